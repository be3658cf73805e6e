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
		{[]string{"ring:4", "--format", "text"}, 0, "switch s3"},
		{[]string{"ring:4", "--format", "svg"}, 0, "</svg>"},
		{[]string{"ring:4", "--format", "osu"}, 2, "--format osu is of verbs that measure by size or number of ranks; topology has svg, text"},
		{[]string{"ring:4", "--format", "fly"}, 2, `unknown format "fly"; known: svg, text`},
		{[]string{"ring:4", "--svg", "-"}, 0, "</svg>"},
		{[]string{"ring:4", "--machine", ""}, 2, "--machine is empty"},
		{[]string{"ring:4", "--hosts", "x"}, 2, "want a whole number"},
		{[]string{"--help"}, 0, "random:N"},
		{nil, 2, "one shape or file"},
		{[]string{"ring:4", "ring:5"}, 2, "one shape or file"},
		{[]string{"ring:4", "--route", "h0,x"}, 2, "no host is called"},
		{[]string{"ring:4", "--svg", filepath.Join(file, "x")}, 2, "not a directory"},
		{[]string{"ring:4", "--machine", "nosuch"}, 2, "no machine is called"},
		{[]string{"ring:4", "--machine", "nosuch", "--text"}, 2, "no machine is called"},
		{[]string{"ring:4", "--scheme", "best", "--text"}, 2, "no routes are called"},
		{[]string{"../../conduits/myrinet/routing/testdata/figure1.topology", "--hosts", "-2"}, 2, "aqbench topology: -2 hosts"},
		{[]string{"nosuch"}, 2, "aqbench topology: open nosuch"},
		{[]string{"torus:4x4", "--scheme", "shortest", "--traffic", "512"}, 0, "nothing arrives any more"},
		{[]string{"line:3"}, 0, "a line of 3 switches"},
		{[]string{"line:1", "--hosts", "1"}, 0, ": 1 switch, 1 host;"},
		{[]string{"fat-tree:4x99"}, 2, "from 1 to 32"},
		{[]string{"random:-3"}, 2, "-3 switches; there can be 1 to 4096"},
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
