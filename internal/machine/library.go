package machine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Suffix ends the names of machine files.
const Suffix = ".machine"

// Library finds machines: those that come with a conduit by name, a user's own by path.
type Library struct {
	Builtin fs.FS             // holds <name>.machine
	Aliases map[string]string // further names of built-in machines
}

// Built returns the library of the machine files in a directory that is embedded in the
// program. It panics if there is no such directory.
func Built(files fs.FS, dir string, aliases map[string]string) *Library {
	builtin, err := fs.Sub(files, dir)
	if err != nil {
		panic(err)
	}
	return &Library{Builtin: builtin, Aliases: aliases}
}

// Over returns the library with the machines of another one below, which its own can be based on. Names lists
// those of l alone.
func (l *Library) Over(below *Library) *Library {
	aliases := maps.Clone(below.Aliases)
	if aliases == nil {
		aliases = map[string]string{}
	}
	maps.Copy(aliases, l.Aliases)
	return &Library{Builtin: overlay{l.Builtin, below.Builtin}, Aliases: aliases}
}

// overlay is a file system that has the files of another one, too.
type overlay struct {
	fs.FS
	below fs.FS
}

// Open implements fs.FS.
func (o overlay) Open(name string) (fs.File, error) {
	f, err := o.FS.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return o.below.Open(name)
	}
	return f, err
}

// Names returns the names of the built-in machines, sorted, without aliases.
func (l *Library) Names() []string {
	files, err := fs.Glob(l.Builtin, "*"+Suffix)
	if err != nil {
		panic(err) // the pattern is constant
	}
	for i := range files {
		files[i] = strings.TrimSuffix(files[i], Suffix)
	}
	slices.Sort(files)
	return files
}

// Load reads a machine and what it is based on. A name with a slash, or with the suffix
// .machine, is the path of a file, in a file's base line relative to that file; any other is
// a built-in machine. Errors say file and line.
func (l *Library) Load(name string) (*File, error) { return l.load(name, nil) }

// load is Load; above are the machines that are based on this one.
func (l *Library) load(name string, above []string) (*File, error) {
	name = l.resolve(name, above)
	if slices.Contains(above, name) {
		return nil, fmt.Errorf("machine: %s is based on itself: %s", name, strings.Join(append(above, name), ", based on "))
	}
	text, err := l.read(name)
	if err != nil {
		return nil, err
	}
	f, err := parse(name, text)
	if err != nil {
		return nil, err
	}
	if f.Base != "" {
		base, err := l.load(f.Base, append(above, name))
		if err != nil {
			return nil, err
		}
		f.inherit(base)
	}
	if len(f.parts) > 0 && (f.Base != "" || len(f.Constants) > 0) {
		return nil, fmt.Errorf("machine: %s: a machine of parts has no base and no constants of its own; base another one on it", name)
	}
	for _, p := range f.parts {
		of, err := l.load(p.machine, append(above, name))
		if err != nil {
			return nil, err
		}
		f.join(p, of)
	}
	return f, f.check()
}

// join adds a part, with what was published of it, since that is unchanged.
func (f *File) join(p part, of *File) {
	for _, c := range of.Constants {
		c.Name = p.prefix + "." + c.Name
		f.Constants = append(f.Constants, c)
	}
	add := func(to *[]Goal, goals []Goal) {
		for _, g := range goals {
			g.Where = p.where + ", " + g.Where
			*to = append(*to, g)
		}
	}
	add(&f.Fits, of.Fits)
	add(&f.Predictions, of.Predictions)
}

// known returns the names of the built-in machines, sorted, aliases with what they stand for.
func (l *Library) known() []string {
	names := l.Names()
	for alias, own := range l.Aliases {
		if slices.Contains(names, own) {
			names = append(names, fmt.Sprintf("%s (which is %s)", alias, own))
		}
	}
	slices.Sort(names)
	return names
}

// resolve returns what name stands for: a built-in machine's own name or a path.
func (l *Library) resolve(name string, above []string) string {
	if !IsPath(name) {
		if own, ok := l.Aliases[name]; ok {
			return own
		}
		return name
	}
	if len(above) > 0 && IsPath(above[len(above)-1]) && !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(above[len(above)-1]), name)
	}
	if name = filepath.Clean(name); !IsPath(name) {
		name = "./" + name // which Clean has taken away
	}
	return name
}

// Load reads a machine of a library, by its name or by the path of a file, and makes of it what make makes.
func Load[T any](l *Library, name string, make func(*File) (*T, error)) (*T, error) {
	f, err := l.Load(name)
	if err != nil {
		return nil, err
	}
	return make(f)
}

// IsPath reports whether the name of a machine is the path of a file, and not that of one that
// is built in.
func IsPath(name string) bool {
	return strings.ContainsRune(name, '/') || strings.HasSuffix(name, Suffix)
}

func (l *Library) read(name string) (string, error) {
	if IsPath(name) {
		file, err := os.Open(name)
		if err != nil {
			return "", fmt.Errorf("machine: %w", err)
		}
		defer file.Close()
		text, err := io.ReadAll(io.LimitReader(file, maxFile+1)) // parse refuses what is longer
		if err != nil {
			return "", fmt.Errorf("machine: %w", err)
		}
		return string(text), nil
	}
	text, err := fs.ReadFile(l.Builtin, name+Suffix)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return "", fmt.Errorf("machine: no machine is called %q; there are %s, or give the path of a file of your own, such as ./my%s", name, strings.Join(l.known(), ", "), Suffix)
	}
	if err != nil {
		return "", fmt.Errorf("machine: %w", err)
	}
	return string(text), nil
}

// inherit adds what f's own file does not say. A number that constants of the base are
// fitted to comes along; predictions were made for the base and stay there.
func (f *File) inherit(base *File) {
	own := f.Constants
	f.Constants = slices.Clone(base.Constants)
	for _, c := range own {
		if old := f.Constant(c.Name); old != nil {
			*old = c
		} else {
			f.Constants = append(f.Constants, c)
		}
	}
	for _, fit := range base.Fits {
		if f.Fit(fit.Name) == nil {
			f.Fits = append(f.Fits, fit)
		}
	}
	if f.About == "" {
		f.About = base.About + ", changed"
	}
}
