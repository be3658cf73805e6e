package libmpi_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi"
	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi/libmpitest"
	"golang.org/x/sys/unix"
)

func init() {
	roles["intact"] = func() {
		runtime.LockOSThread()
		before := signalStack()
		boot, err := libmpi.Connect()
		check(err)
		if after := signalStack(); after != before {
			check(fmt.Errorf("the thread's signal stack was %+v and is %+v", before, after))
		}
		check(intact("/libc.so.6"))
		check(boot.Close())
		fmt.Println("good")
	}
}

// altStack is a stack_t of sigaltstack(2).
type altStack struct {
	at    uintptr
	flags int32
	size  uintptr
}

// signalStack returns the calling thread's.
func signalStack() (s altStack) {
	if _, _, errno := unix.RawSyscall(unix.SYS_SIGALTSTACK, 0, uintptr(unsafe.Pointer(&s)), 0); errno != 0 {
		check(errno)
	}
	return s
}

// intact returns an error if the code of a library is not what its file has.
func intact(library string) error {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		return err
	}
	defer memory.Close()
	found := false
	for line := range strings.Lines(string(maps)) {
		f := strings.Fields(line)
		if len(f) < 6 || !strings.HasSuffix(f[5], library) || !strings.Contains(f[1], "x") {
			continue
		}
		found = true
		var begin, end, offset int64
		if _, err := fmt.Sscanf(f[0]+" "+f[2], "%x-%x %x", &begin, &end, &offset); err != nil {
			return err
		}
		file, err := os.ReadFile(f[5])
		if err != nil {
			return err
		}
		code := make([]byte, end-begin)
		if _, err := memory.ReadAt(code, begin); err != nil {
			return err
		}
		same := file[offset:min(offset+int64(len(code)), int64(len(file)))]
		for i := range same {
			if same[i] != code[i] {
				return fmt.Errorf("%s: somebody has written over its code at %#x: % x", f[5], offset+int64(i), code[i:min(i+8, len(code))])
			}
		}
	}
	if !found {
		return fmt.Errorf("no code of %s in\n%s", library, bytes.TrimSpace(maps))
	}
	return nil
}

// Opening a library changes neither the code of the C library, which other threads execute, nor where a thread
// takes signals.
func TestProcessStaysIntact(t *testing.T) {
	for _, library := range libmpitest.Libraries {
		t.Run(library, func(t *testing.T) {
			if status, out := direct(t, library, 2, "intact"); status != 0 || strings.Count(out, "good") != 2 {
				t.Errorf("status %d\n%s", status, out)
			}
		})
	}
}
