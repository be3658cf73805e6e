package core

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"
)

// TestPlainLog has lines in the launcher's style.
func TestPlainLog(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(&plain{to: &out, level: slog.LevelWarn})
	log.Info("of no interest")
	log.Warn("beware")
	log.With("rank", 3).WithGroup("socket").Error("it is narrow", "bytes", 512)
	log.WithGroup("").Warn("it is late", "wait", lateValue(7), slog.Attr{})
	want := "aqueduct: beware\naqueduct: it is narrow (rank 3, socket.bytes 512)\naqueduct: it is late (wait 7 s)\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// Information is for those who ask for it.
func TestVerbose(t *testing.T) {
	for _, verbose := range []bool{false, true} {
		c := Config{Verbose: verbose}
		if got := c.Logger().Enabled(t.Context(), slog.LevelInfo); got != verbose || !c.Logger().Enabled(t.Context(), slog.LevelWarn) {
			t.Errorf("verbose %v: information is written: %v", verbose, got)
		}
	}
}

// lateValue is a value that says itself how it is logged.
type lateValue int

func (v lateValue) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(int(v), " s")) }
