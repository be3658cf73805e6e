package core

import (
	"bytes"
	"log/slog"
	"testing"
)

// TestPlainLog has lines in the launcher's style.
func TestPlainLog(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(&plain{to: &out})
	log.Info("of no interest")
	log.Warn("beware")
	log.With("rank", 3).WithGroup("socket").Error("it is narrow", "bytes", 512)
	want := "aqueduct: beware\naqueduct: it is narrow (rank 3, socket.bytes 512)\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
