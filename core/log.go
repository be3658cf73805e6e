package core

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
)

// Logger returns Log or, if that is nil, a logger that writes to standard error as the launcher
// does: "aqueduct: MESSAGE (key value, key value)", for warnings and errors, and for information if Verbose.
func (c *Config) Logger() *slog.Logger {
	if c.Log != nil {
		return c.Log
	}
	level := slog.LevelWarn
	if c.Verbose {
		level = slog.LevelInfo
	}
	return slog.New(&plain{to: os.Stderr, level: level})
}

// plain is a handler in the launcher's style.
type plain struct {
	to    io.Writer
	level slog.Level // the least that is written
	attrs []slog.Attr
	group string // the names of the open groups, each with a dot behind it
}

// Enabled implements slog.Handler.
func (h *plain) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

// Handle implements slog.Handler. A line is one write, so that those of several ranks do not mix.
func (h *plain) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString("aqueduct: " + r.Message)
	before := " ("
	add := func(prefix string, a slog.Attr) {
		if a.Equal(slog.Attr{}) {
			return // as a Handler has to take it
		}
		fmt.Fprintf(&b, "%s%s%s %v", before, prefix, a.Key, a.Value.Resolve())
		before = ", "
	}
	for _, a := range h.attrs {
		add("", a)
	}
	r.Attrs(func(a slog.Attr) bool { add(h.group, a); return true })
	if before == ", " {
		b.WriteString(")")
	}
	b.WriteString("\n")
	_, err := io.WriteString(h.to, b.String())
	return err
}

// WithAttrs implements slog.Handler.
func (h *plain) WithAttrs(attrs []slog.Attr) slog.Handler {
	x := *h
	x.attrs = append([]slog.Attr(nil), h.attrs...)
	for _, a := range attrs {
		a.Key = h.group + a.Key
		x.attrs = append(x.attrs, a)
	}
	return &x
}

// WithGroup implements slog.Handler.
func (h *plain) WithGroup(name string) slog.Handler {
	x := *h
	if name != "" {
		x.group += name + "."
	}
	return &x
}
