//go:build !race

package clients_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// install installs the library below a prefix, which it returns.
func install(t *testing.T) string {
	t.Helper()
	compiler(t)
	built := t.TempDir()
	for name, target := range map[string]string{"capi": prefix, "aqrun": aqrun} {
		if err := os.Symlink(target, filepath.Join(built, name)); err != nil {
			t.Fatal(err)
		}
	}
	to := filepath.Join(t.TempDir(), "installed")
	if out, err := exec.Command("sh", "../../scripts/capi-install.sh", filepath.Join(built, "capi"), to).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return to
}

// makefile is one as programs for GASNet have them.
const makefile = `
include $(PREFIX)/include/$(CONDUIT)-conduit/$(CONDUIT)-seq.mak
%.o: %.c
	$(GASNET_CC) $(GASNET_CPPFLAGS) $(GASNET_CFLAGS) -c -o $@ $<
hello: hello.o
	$(GASNET_LD) $(GASNET_LDFLAGS) -o $@ $< $(GASNET_LIBS)
named: hello.o
	$(GASNET_LD) $(GASNET_LDFLAGS) -o $@ $< -L$(PREFIX)/lib -lgasnet-$(CONDUIT)-seq
`

// TestInstalled builds a program as makefiles for GASNet do, by fragments, by the library's customary name and by
// pkg-config, and starts it by GASNet's launchers.
func TestInstalled(t *testing.T) {
	to := install(t)
	for _, conduit := range []string{"smp", "udp", "mpi", "sci", "aqueduct"} {
		work := t.TempDir()
		for name, text := range map[string]string{"Makefile": makefile, "hello.c": read(t, "../testdata/hello.c"), "check.h": read(t, "../testdata/check.h")} {
			if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := exec.Command("make", "-C", work, "PREFIX="+to, "CONDUIT="+conduit, "hello", "named").CombinedOutput(); err != nil {
			t.Fatalf("make for %s: %v\n%s", conduit, err, out)
		}
		if conduit == "mpi" {
			continue // it takes an MPI library to start it so
		}
		launcher := filepath.Join(to, "bin", "gasnetrun_"+conduit)
		if conduit == "udp" {
			launcher = filepath.Join(to, "bin", "amudprun")
		}
		for _, program := range []string{"hello", "named"} {
			out, err := exec.Command(launcher, "-np", "2", filepath.Join(work, program)).CombinedOutput()
			if err != nil || strings.Count(string(out), "is well") != 2 {
				t.Errorf("%s %s: %v; want both ranks well:\n%s", launcher, program, err, out)
			}
		}
	}
	if _, err := exec.LookPath("pkg-config"); err != nil {
		return
	}
	cmd := exec.Command("pkg-config", "--cflags", "--libs", "gasnet-smp-par")
	cmd.Env = append(os.Environ(), "PKG_CONFIG_PATH="+to+"/lib/pkgconfig")
	out, err := cmd.CombinedOutput()
	for _, want := range []string{"-DGASNET_PAR", "-I" + to + "/include", "-l:libaqueduct-par.a -l:libaqueduct.a"} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("pkg-config: %v; want %s in %s", err, want, out)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
