package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// listFiles returns the regular files that the roots are or hold, sorted, so that every
// rank sees the same list. Without roots it takes the Go files of the Go installation's
// library.
func listFiles(roots []string) ([]string, error) {
	suffix := ""
	if len(roots) == 0 {
		root, err := goRoot()
		if err != nil {
			return nil, err
		}
		roots, suffix = []string{filepath.Join(root, "src")}, ".go"
	}
	var files []string
	for _, root := range roots {
		info, err := os.Stat(root)
		switch {
		case err == nil && info.Mode().IsRegular():
			files = append(files, root)
		case err == nil && !info.IsDir():
			err = fmt.Errorf("%s is neither a file nor a folder (%v)", root, info.Mode().Type())
		case err == nil:
			// With the slash, a link to a folder is that folder.
			err = filepath.WalkDir(root+"/", func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, suffix) {
					files = append(files, path)
				}
				return err
			})
		}
		if err != nil {
			return nil, fmt.Errorf("wordcount: list files: %w", err)
		}
	}
	slices.Sort(files)
	return files, nil
}

// goRoot finds the Go installation of this machine.
func goRoot() (string, error) {
	if dir := os.Getenv("GOROOT"); dir != "" {
		return dir, nil
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		tool, err := filepath.EvalSymlinks(filepath.Join(dir, "go"))
		if root := filepath.Dir(filepath.Dir(tool)); err == nil && isDir(filepath.Join(root, "src", "runtime")) {
			return root, nil
		}
	}
	return "", errors.New("wordcount: no Go installation in PATH to count the words of; name files or folders")
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// words calls f for each word of text: a run of ASCII letters, digits and underscores, in
// lower case, cut at maxWord bytes. The word is valid during the call.
func words(text []byte, f func(word []byte)) {
	text = bytes.ToLower(text)
	for i := 0; i < len(text); {
		for i < len(text) && !isWord(text[i]) {
			i++
		}
		j := i
		for j < len(text) && isWord(text[j]) {
			j++
		}
		if j > i {
			f(text[i:min(j, i+maxWord)])
		}
		i = j
	}
}

func isWord(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b == '_'
}
