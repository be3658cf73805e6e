package aqueduct

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// profile writes where this process spends its time to a file of the directory dir, "": nowhere, until done is called. who names the
// file: a rank's number, or all.
func profile(dir, who string) (done func() error, err error) {
	if dir == "" {
		return func() error { return nil }, nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("aqueduct: AQUEDUCT_PPROF: %w", err)
	}
	file, err := os.Create(filepath.Join(dir, "rank."+who+".pprof"))
	if err != nil {
		return nil, fmt.Errorf("aqueduct: AQUEDUCT_PPROF: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, fmt.Errorf("aqueduct: AQUEDUCT_PPROF: %w", err)
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, nil
}
