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

	"golang.org/x/sync/singleflight"
)

//go:embed src/*.c src/*.h
var source embed.FS

// program says how a program is made of sources.
type program struct {
	compiler []string // with options of its own
	flags    []string
	suffix   string   // of what is compiled
	libs     []string // behind the sources
}

// inC returns how programs in C are made. They are for any CPU of the architecture, and
// nothing in them gains from more than -O2.
func inC(cc []string) program {
	return program{compiler: cc, flags: []string{"-O2", "-std=gnu11"}, suffix: ".c"}
}

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
	return inC(cc).build(ctx, src)
}

// build makes the program unless the cache has it.
func (p program) build(ctx context.Context, src fs.FS) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("floor: no place for the compiled programs: %w; set XDG_CACHE_HOME", err)
	}
	dir := filepath.Join(cache, "aqueduct", "floor")
	name, err := p.digest(src)
	if err != nil {
		return "", fmt.Errorf("floor: %w", err)
	}
	exe := filepath.Join(dir, name)
	for {
		_, err, shared := builds.Do(exe, func() (any, error) {
			if st, err := os.Stat(exe); err == nil && st.Mode().IsRegular() {
				return nil, nil
			}
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return nil, fmt.Errorf("floor: %w; set XDG_CACHE_HOME to a writable directory", err)
			}
			return nil, p.compile(ctx, src, dir, exe)
		})
		switch {
		case err == nil:
			return exe, nil
		case shared && errors.Is(err, errCancelled) && ctx.Err() == nil:
			continue // the caller that had begun was cancelled, this one was not
		}
		return "", err
	}
}

// builds are the compilations under way in this process, by what they make.
var builds singleflight.Group

// errCancelled says that the caller's context has ended a compilation.
var errCancelled = errors.New("floor: the compilation was cancelled")

// compiler returns the command of the C compiler.
func compiler() ([]string, error) {
	if cc := command("CC", "cc", "gcc", "clang"); cc != nil {
		return cc, nil
	}
	return nil, ErrNoCompiler
}

// command returns the command in an environment variable, else the first of the names, that
// is installed; nil if none is.
func command(variable string, names ...string) []string {
	if words := strings.Fields(os.Getenv(variable)); len(words) > 0 {
		if path, err := exec.LookPath(words[0]); err == nil {
			return append([]string{path}, words[1:]...)
		}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return []string{path}
		}
	}
	return nil
}

// digest names what the compiler would produce: the sources, the compiler, the flags.
func (p program) digest(src fs.FS) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s %q %q\n", runtime.GOARCH, p.compiler, slices.Concat(p.flags, p.libs))
	err := eachSource(src, func(name string, text []byte) error {
		fmt.Fprintf(h, "%s %d\n", name, len(text))
		h.Write(text)
		return nil
	})
	return fmt.Sprintf("%x", h.Sum(nil)[:12]), err
}

// compile makes exe in dir, where it appears complete or not at all.
func (p program) compile(ctx context.Context, src fs.FS, dir, exe string) error {
	tmp, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return fmt.Errorf("floor: %w", err)
	}
	defer os.RemoveAll(tmp)
	args := slices.Concat(p.compiler[1:], p.flags, []string{"-o", "floor"})
	err = eachSource(src, func(name string, text []byte) error {
		if strings.HasSuffix(name, p.suffix) {
			args = append(args, name)
		}
		return os.WriteFile(filepath.Join(tmp, name), text, 0o600)
	})
	if err != nil {
		return fmt.Errorf("floor: %w", err)
	}
	cmd := exec.CommandContext(ctx, p.compiler[0], append(args, p.libs...)...)
	cmd.Dir = tmp
	if out, err := cmd.CombinedOutput(); ctx.Err() != nil {
		return fmt.Errorf("%w: %w", errCancelled, context.Cause(ctx))
	} else if err != nil {
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
