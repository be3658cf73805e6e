package spawner

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Who does not know the secret is not admitted, and keeps nobody out.
func TestGathering(t *testing.T) {
	g, err := gather()
	if err != nil {
		t.Fatal(err)
	}
	address := g.address()
	path := string(address[32:])
	if fi, err := os.Stat(filepath.Dir(path)); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("the directory has mode %v, %v", fi.Mode(), err)
	}
	silent, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	forged := append(bytes.Repeat([]byte{1}, 32), path...)
	refused, came := make(chan error, 1), make(chan *link, 1)
	go func() {
		_, err := come(forged, 1)
		refused <- err
		p, err := come(address, 3)
		if err != nil {
			t.Error(err)
		}
		came <- p
	}()
	rank, p, err := g.admit(4, time.Now().Add(30*time.Second))
	if err != nil || rank != 3 {
		t.Fatalf("rank %d, %v", rank, err)
	}
	defer p.close()
	if err := <-refused; err == nil {
		t.Error("a stranger was admitted")
	}
	theirs := <-came
	defer theirs.close()
	if err := newPeer(3, p).send([]byte("welcome"), 0, 1); err != nil {
		t.Fatal(err)
	}
	body, err := theirs.receive()
	if string(body) != "welcome" || err != nil {
		t.Errorf("%q, %v", body, err)
	}
	if fds, err := theirs.claim(2); len(fds) != 2 || err != nil {
		t.Errorf("descriptors %v, %v", fds, err)
	} else {
		for _, fd := range fds {
			os.NewFile(uintptr(fd), "").Close()
		}
	}
	if _, _, err := g.admit(4, time.Now()); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
	g.close()
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
	if _, err := come(address, 1); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("coming too late: %v", err)
	}
	if _, err := come(nil, 1); err == nil {
		t.Error("came to no address")
	}
}
