package abstract

import (
	"fmt"
	"net"
	"os"
	"slices"
	"testing"
)

func TestNames(t *testing.T) {
	prefix := fmt.Sprintf("aqueduct-test-%d-", os.Getpid())
	if names, err := Names(prefix); err != nil || len(names) > 0 {
		t.Errorf("before: %q, %v", names, err)
	}
	l, err := net.Listen("unix", "@"+prefix+"b")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("unix", "@"+prefix+"b")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p, err := net.ListenPacket("unixgram", "@"+prefix+"a")
	if err != nil {
		t.Fatal(err)
	}
	names, err := Names(prefix)
	if want := []string{prefix + "a", prefix + "b"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v; want %q", names, err, want)
	}
	p.Close()
	if names, _ := Names(prefix); len(names) != 1 {
		t.Errorf("one is closed: %q", names)
	}
}

func FuzzFind(f *testing.F) {
	f.Add("Num RefCount\n0: 2 0 10000 1 01 99 @a-1\n0: 2 0 0 1 01 98\n\n@\n", "a")
	f.Fuzz(func(t *testing.T, list, prefix string) {
		if names := find(list, prefix); !slices.IsSorted(names) {
			t.Errorf("%q", names)
		}
	})
}
