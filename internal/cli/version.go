package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
)

// Version returns lines that say what a program is and was built with. The facts besides, NAME: TEXT, are the program's own.
func Version(program string, facts ...string) string {
	var b strings.Builder
	info, ok := debug.ReadBuildInfo()
	fmt.Fprintf(&b, "%s %s\n", program, sources(info, ok))
	fmt.Fprintf(&b, "go: %s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, fact := range facts {
		fmt.Fprintln(&b, fact)
	}
	return b.String()
}

// sources says which sources a program was built from.
func sources(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return "(built without modules: of unknown sources)"
	}
	set := make(map[string]string)
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	text := info.Main.Version
	if text == "" || text == "(devel)" {
		text = "(development)"
	}
	switch revision := set["vcs.revision"]; {
	case revision != "" && set["vcs.modified"] == "true":
		text += ", revision " + revision + " with changes"
	case revision != "":
		text += ", revision " + revision
	case text == "(development)":
		text = "(development; the revision was not recorded: built with -buildvcs=false, or outside of a repository)"
	}
	return text
}

// release is a line of the C library's headers.
var release = regexp.MustCompile(`(?m)^#define GASNET_RELEASE_VERSION_(?:MAJOR|MINOR|PATCH) +(\d+)`)

// CLibrary returns the version of the C library that was built or installed with this program, and where that is; "none" if there
// is none.
func CLibrary() string {
	exe, err := os.Executable()
	if err != nil {
		return "none"
	}
	dir := filepath.Dir(exe)
	for _, prefix := range []string{filepath.Join(dir, "capi"), filepath.Dir(dir)} {
		text, err := os.ReadFile(filepath.Join(prefix, "include", "gasneti", "base.h"))
		if err != nil {
			continue
		}
		var numbers []string
		for _, m := range release.FindAllStringSubmatch(string(text), -1) {
			numbers = append(numbers, m[1])
		}
		return strings.Join(numbers, ".") + " in " + filepath.Join(prefix, "lib")
	}
	return "none"
}
