package drain_test

import (
	"io"
	"os"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/drain"
)

func TestWait(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	drain.Wait(w, time.Hour) // it is empty
	if _, err := w.WriteString("text"); err != nil {
		t.Fatal(err)
	}
	drain.Wait(w, time.Millisecond) // nobody reads it
	waited := make(chan bool)
	go func() {
		drain.Wait(w, time.Hour)
		close(waited)
	}()
	if _, err := io.ReadFull(r, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	select {
	case <-waited:
		t.Error("a byte has not been read")
	default:
	}
	if _, err := io.ReadFull(r, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	<-waited

	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	drain.Wait(file, time.Hour) // nobody is going to read what is behind its end
}
