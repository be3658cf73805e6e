package floor

import (
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

//go:embed src/*.c src/*.h
var source embed.FS

// flags of the compiler. The programs are for any CPU of the architecture, and nothing
// in them gains from more than -O2.
var flags = []string{"-O2", "-std=gnu11"}

// ErrNoCompiler says that the floors cannot be measured here.
var ErrNoCompiler = errors.New("floor: no C compiler (looked for $CC, cc, gcc, clang); install one, e.g. apt-get install gcc")

// Build compiles the floor programs unless this version of them is in the user's cache
// directory already, and returns the path of the executable. It fails with ErrNoCompiler
// if there is no compiler. Start calls it.
func Build(ctx context.Context) (string, error) {
	cc, err := compiler()
	if err != nil {
		return "", err
	}
	src, err := fs.Sub(source, "src")
	if err != nil {
		return "", fmt.Errorf("floor: %w", err)
	}
	return Compile(ctx, cc, src)
}

// Compile makes one program of all C files in src by the compiler command cc, unless the
// user's cache directory has it already, and returns the path of the executable.
func Compile(ctx context.Context, cc []string, src fs.FS) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("floor: no place for the compiled programs: %w; set XDG_CACHE_HOME", err)
	}
	dir := filepath.Join(cache, "aqueduct", "floor")
	name, err := digest(cc, src)
	if err != nil {
		return "", fmt.Errorf("floor: %w", err)
	}
	exe := filepath.Join(dir, name)
	if st, err := os.Stat(exe); err == nil && st.Mode().IsRegular() {
		return exe, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("floor: %w; set XDG_CACHE_HOME to a writable directory", err)
	}
	if err := compile(ctx, cc, src, dir, exe); err != nil {
		return "", err
	}
	return exe, nil
}

// compiler returns the command of the C compiler.
func compiler() ([]string, error) {
	if cc := strings.Fields(os.Getenv("CC")); len(cc) > 0 {
		if path, err := exec.LookPath(cc[0]); err == nil {
			return append([]string{path}, cc[1:]...), nil
		}
	}
	for _, name := range []string{"cc", "gcc", "clang"} {
		if path, err := exec.LookPath(name); err == nil {
			return []string{path}, nil
		}
	}
	return nil, ErrNoCompiler
}

// digest names what the compiler would produce: the sources, the compiler, the flags.
func digest(cc []string, src fs.FS) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %q %q\n", runtime.GOARCH, cc, flags)
	err := eachSource(src, func(name string, text []byte) error {
		fmt.Fprintf(h, "%s %d\n", name, len(text))
		h.Write(text)
		return nil
	})
	return fmt.Sprintf("%x", h.Sum(nil)[:12]), err
}

// compile makes exe in dir, where it appears complete or not at all.
func compile(ctx context.Context, cc []string, src fs.FS, dir, exe string) error {
	tmp, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return fmt.Errorf("floor: %w", err)
	}
	defer os.RemoveAll(tmp)
	args := slices.Concat(cc[1:], flags, []string{"-o", "floor"})
	err = eachSource(src, func(name string, text []byte) error {
		if strings.HasSuffix(name, ".c") {
			args = append(args, name)
		}
		return os.WriteFile(filepath.Join(tmp, name), text, 0o600)
	})
	if err != nil {
		return fmt.Errorf("floor: %w", err)
	}
	cmd := exec.CommandContext(ctx, cc[0], args...)
	cmd.Dir = tmp
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("floor: %s: %w\n%s", cmd, err, out)
	}
	if err := os.Rename(filepath.Join(tmp, "floor"), exe); err != nil {
		return fmt.Errorf("floor: %w", err)
	}
	return nil
}

// eachSource calls f with the name and text of every file in src, in order of name.
func eachSource(src fs.FS, f func(name string, text []byte) error) error {
	files, err := fs.ReadDir(src, ".")
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := fs.ReadFile(src, file.Name())
		if err != nil {
			return err
		}
		if err := f(file.Name(), text); err != nil {
			return err
		}
	}
	return nil
}
