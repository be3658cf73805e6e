package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTopology has the verb draw to standard output and to a file, and refuse what makes no sense.
func TestTopology(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ring.svg")
	for _, c := range []struct {
		args   []string
		status int
		want   string // of either output
	}{
		{[]string{"ring:4", "--hosts", "1", "--route", "h0,h2"}, 0, "</svg>"},
		{[]string{"ring:4", "--svg", file}, 0, "wrote " + file},
		{[]string{"ring:4", "--text"}, 0, "switch s3"},
		{[]string{"--help"}, 0, "random:N"},
		{nil, 2, "one shape or file"},
		{[]string{"ring:4", "ring:5"}, 2, "one shape or file"},
		{[]string{"ring:4", "--route", "h0,x"}, 2, "no host is called"},
		{[]string{"ring:4", "--svg", filepath.Join(file, "x")}, 2, "not a directory"},
		{[]string{"ring:4", "--colour"}, 2, "unknown flag"},
	} {
		var out, err bytes.Buffer
		if got := run(context.Background(), append([]string{"topology"}, c.args...), &out, &err); got != c.status || !strings.Contains(out.String()+err.String(), c.want) {
			t.Errorf("%v: status %d, %s%s", c.args, got, &out, &err)
		}
	}
	if b, err := os.ReadFile(file); err != nil || !bytes.HasSuffix(b, []byte("</svg>\n")) {
		t.Errorf("%v, %q", err, b)
	}
}
