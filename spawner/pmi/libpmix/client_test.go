//go:build cgo

package libpmix

import (
	"strings"
	"testing"
)

// A library whose types may be others is refused.
func TestVersion(t *testing.T) {
	for text, good := range map[string]bool{
		"OpenPMIx 4.2.2rc2 (PMIx Standard: 4.1, Stable ABI: 0.0)": true,
		"OpenPMIx 3.2.5, repo rev: v3.2.5, Aug 26, 2025":          true,
		"OpenPMIx 10.0.0":                    true,
		"PMIx 2.2.5, repo rev: gitb0a7c2a, ": false,
		"unknown":                            false,
	} {
		if err := checkVersion(text); (err == nil) != good || err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A process that no launcher has started gets an error, and does not hang.
func TestNoLauncher(t *testing.T) {
	if err := Usable(); err != nil {
		t.Skipf("needs a PMIx library: %v", err)
	}
	if c, err := Open(); err == nil || !strings.Contains(err.Error(), "PMIx_Init") {
		t.Errorf("a client %v, error %v", c, err)
	}
}
