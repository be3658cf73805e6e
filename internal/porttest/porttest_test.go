package porttest

import (
	"errors"
	"net"
	"testing"
	"time"
)

// Who is told the port may listen at it again and again, and nobody else gets it.
func TestReserve(t *testing.T) {
	at := Reserve(t)
	if c, err := net.Dial("tcp", at); err == nil {
		c.Close()
		t.Errorf("something listens at %s already", at)
	}
	for range 2 {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		s, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		s.Close() // at this end first, whose port is in TIME_WAIT then
		c.Close()
		l.Close()
	}
	for range 200 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if l.Addr().String() == at {
			t.Fatalf("the kernel gives %s to somebody else", at)
		}
	}
}

// Who connects to a dead address waits.
func TestDead(t *testing.T) {
	at := Dead(t)
	if c, err := net.DialTimeout("tcp", at, 100*time.Millisecond); err == nil {
		c.Close()
		t.Errorf("somebody answers at %s", at)
	} else if late := net.Error(nil); !errors.As(err, &late) || !late.Timeout() {
		t.Errorf("at %s: %v", at, err)
	}
}
