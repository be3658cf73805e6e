package link_test

import (
	"os"
	"runtime"
	"testing"
)

// yield lets the goroutine at the other end go on, of which a test waits for something.
func yield() { runtime.Gosched() }

// A test that needs a second process runs this binary again with the name of a role in the environment, and descriptor 3 is the memory of a ring.
const roleVariable = "AQ_LINK_TEST_ROLE"

var roles = map[string]func(mem []byte){"produce": produce, "consume": consume}

func TestMain(m *testing.M) {
	if role, ok := os.LookupEnv(roleVariable); ok {
		inherit(roles[role])
	}
	os.Exit(m.Run())
}
