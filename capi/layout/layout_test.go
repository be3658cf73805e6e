package layout

import (
	"bytes"
	"os"
	"testing"
)

// TestHeaderIsCurrent compares the header that C is compiled with to the types in Go.
func TestHeaderIsCurrent(t *testing.T) {
	got, err := os.ReadFile("../layout.h")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, Header()) {
		t.Error("capi/layout.h is not what the types in Go make: run go generate ./capi")
	}
}
