package floor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sync/errgroup"

	"github.com/aqueduct-go/aqueduct/bench/floor"
)

// fakeCompiler is a compiler that writes a line into a log each time it is called.
func fakeCompiler(t *testing.T, body string) (cc []string, log string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	cc, log = []string{filepath.Join(dir, "cc")}, filepath.Join(dir, "log")
	script := fmt.Sprintf("#!/bin/sh\necho called >> %s\n%s\n", log, body)
	if err := os.WriteFile(cc[0], []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return cc, log
}

var source = fstest.MapFS{"a.c": {Data: []byte("int main(void) { return 0; }\n")}}

// TestCompileOnce has several callers want one program: it is compiled once, whoever comes when.
func TestCompileOnce(t *testing.T) {
	cc, log := fakeCompiler(t, "echo > floor")
	var g errgroup.Group
	for range 8 {
		g.Go(func() error {
			_, err := floor.Compile(t.Context(), cc, source)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if calls, _ := os.ReadFile(log); strings.Count(string(calls), "called") != 1 {
		t.Errorf("the compiler was called so:\n%s", calls)
	}
}

// TestCompileOutlivesCancel has the caller that compiles cancelled while another waits for the same program,
// which then gets it.
func TestCompileOutlivesCancel(t *testing.T) {
	dir := t.TempDir()
	begun, block := filepath.Join(dir, "begun"), filepath.Join(dir, "block")
	// The first call blocks on a FIFO until it is killed, the second compiles.
	cc, _ := fakeCompiler(t, fmt.Sprintf("if mkdir %s 2>/dev/null; then mkfifo %s; exec cat %[2]s; fi\necho > floor", begun, block))
	ctx, cancel := context.WithCancel(t.Context())
	var g errgroup.Group
	g.Go(func() error {
		if _, err := floor.Compile(ctx, cc, source); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("cancelled: %v", err)
		}
		return nil
	})
	for {
		if _, err := os.Stat(block); err == nil {
			break
		}
	}
	g.Go(func() error {
		_, err := floor.Compile(t.Context(), cc, source)
		return err
	})
	cancel()
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}
