package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
)

// TestParts divides texts in all ways: every line is in one part, whole.
func TestParts(t *testing.T) {
	for _, text := range []string{"", "\n", "a", "a\n", "\n\n\n", "one\ntwo\nthree", "a\nlonger line than others\n\nb\n"} {
		want := text
		if text != "" && !strings.HasSuffix(text, "\n") {
			want += "\n"
		}
		for n := 1; n <= len(text)+2; n++ {
			var got []byte
			for i := range n {
				got = append(got, part([]byte(text), len(text)*i/n, len(text)*(i+1)/n)...)
			}
			if string(got) != want {
				t.Errorf("%q in %d parts becomes %q", text, n, got)
			}
		}
	}
}

// TestRandomParts: what random lines there are does not depend on the number of ranks.
func TestRandomParts(t *testing.T) {
	var parts []byte
	for i := range 3 {
		text, err := input{lines: 100, seed: 5}.read(i, 3)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, text...)
	}
	if whole := random(0, 100, 5); !bytes.Equal(parts, whole) || len(lines(whole)) != 100 {
		t.Errorf("%d bytes in three parts, %d in one", len(parts), len(whole))
	}
}

// TestChecks has the check find every kind of wrong result on two ranks.
func TestChecks(t *testing.T) {
	type result struct{ read, sorted [2]string }
	for _, c := range []struct {
		name string
		result
		says string
	}{
		{"right", result{[2]string{"b\nd\n", "a\nc\n"}, [2]string{"a\nb\n", "c\nd\n"}}, ""},
		{"all on one rank", result{[2]string{"b\nb\n", "\na\n"}, [2]string{"", "\na\nb\nb\n"}}, ""},
		{"unsorted", result{[2]string{"b\nd\n", "a\nc\n"}, [2]string{"b\na\n", "c\nd\n"}}, "are not sorted"},
		{"order of ranks", result{[2]string{"b\nd\n", "a\nc\n"}, [2]string{"c\nd\n", "a\nb\n"}}, "begins with"},
		{"lost line", result{[2]string{"b\nd\n", "a\nc\n"}, [2]string{"a\nb\n", "c\n"}}, "were read"},
		{"changed line", result{[2]string{"b\nd\n", "a\nc\n"}, [2]string{"a\nb\n", "c\ne\n"}}, "were read"},
	} {
		err := aqueduct.Launch(func(job *core.Job) error {
			s, err := newSorter(job)
			if err != nil {
				return err
			}
			_, err = s.check(lines([]byte(c.read[job.Rank()])), lines([]byte(c.sorted[job.Rank()])))
			return err
		}, aqueduct.Model("loopback", 2))
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
}
