// Package programs has tests use programs of this module.
package programs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Build puts the programs that the packages are into a folder, by the last elements of their paths. Packages are named as from the
// module's root: "./cmd/aqrun", "./examples/...".
//
// They are built in the module's folder bin, as make build does it, since the go command links a program there only if that has changed. What is in
// the folder are copies of their own, beside which is nothing that bin has.
func Build(dir string, packages ...string) error {
	_, here, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(here), "../..")
	bin := filepath.Join(root, "bin")
	if err := os.MkdirAll(bin, 0o777); err != nil {
		return err
	}
	// Tests of several packages build at the same time.
	lock, err := os.OpenFile(filepath.Join(bin, ".lock"), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	run := func(args ...string) (string, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return string(out), err
	}
	names, err := run(append([]string{"list", "-f", `{{if eq .Name "main"}}{{.ImportPath}}{{end}}`}, packages...)...)
	if err != nil {
		return err
	}
	programs := strings.Fields(names)
	if _, err := run(append([]string{"build", "-o", bin + "/"}, programs...)...); err != nil {
		return err
	}
	for _, name := range programs {
		if err := duplicate(filepath.Join(dir, path.Base(name)), filepath.Join(bin, path.Base(name))); err != nil {
			return err
		}
	}
	return nil
}

// duplicate makes a copy of a program.
func duplicate(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o777)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
