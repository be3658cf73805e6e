//go:build cgo

package libmpi_test

import (
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi"
)

// A launcher that cannot be reached is told of before the library is loaded, which would end the process.
func TestLauncherOutOfReach(t *testing.T) {
	for _, fd := range []string{"999", "-1", "socket"} {
		t.Setenv("PMI_SIZE", "2")
		t.Setenv("PMI_RANK", "0")
		t.Setenv("PMI_FD", fd)
		if _, err := libmpi.Connect(); err == nil || !strings.Contains(err.Error(), "PMI_FD="+fd+" is not its connection") {
			t.Errorf("%s: %v", fd, err)
		}
	}
}
