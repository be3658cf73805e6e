package coretest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
)

func TestCasesAreComplete(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range Cases() {
		group, what, ok := strings.Cut(c.Name, "/")
		if !ok || group == "" || what == "" || seen[c.Name] {
			t.Errorf("case %q: the name is malformed or taken", c.Name)
		}
		seen[c.Name] = true
		if c.Rule == "" || c.Body == nil || len(c.Ranks) == 0 || slices.Min(c.Ranks) < 1 {
			t.Errorf("case %q lacks its rule, body or job sizes", c.Name)
		}
		if find(c.Name, nil) == nil {
			t.Errorf("case %q cannot be found by a rank", c.Name)
		}
	}
	own := &Case{Name: "own/case"}
	if find("own/case", []*Case{own}) != own || find("no/case", []*Case{own}) != nil {
		t.Error("find does not tell a conduit's own cases")
	}
}

func TestJudge(t *testing.T) {
	failed := &Outcome{Err: errors.New("rank 1: boom"), Status: 3, Output: "a line\n"}
	broken := &Outcome{Output: brokenMark + "rank 0: no\n"}
	plain, wants := &Case{}, &Case{Want: endsWith(3, "boom", "a line")}
	for name, c := range map[string]struct {
		c    *Case
		o    *Outcome
		good bool
	}{
		"good end":             {plain, &Outcome{Output: "x"}, true},
		"failure":              {plain, failed, false},
		"wanted failure":       {wants, failed, true},
		"wanted, did not fail": {wants, &Outcome{}, false},
		"another status":       {&Case{Want: endsWith(4)}, failed, false},
		"words missing":        {&Case{Want: endsWith(3, "bang")}, failed, false},
		"broken, good end":     {plain, broken, false},
		"broken as wanted":     {&Case{Want: endsWith(0)}, broken, false},
	} {
		if err := c.c.Judge(c.o); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMissing(t *testing.T) {
	if got := (Live | Kills).missing(Live); got != "" {
		t.Errorf("nothing is missing, got %q", got)
	}
	if got := Live.missing(Modelled | Kills); got != "virtual time and ranks that can be killed" {
		t.Errorf("got %q", got)
	}
}

func TestEnvTellsTheCase(t *testing.T) {
	l := &Launch{Case: Cases()[0], Config: core.Config{Conduit: "c", Sleep: 1, Settings: map[string]string{"a": "b"}}, Dir: "/d"}
	text, ok := strings.CutPrefix(l.Env()[0], envOrder+"=")
	var o order
	if err := json.Unmarshal([]byte(text), &o); !ok || err != nil {
		t.Fatalf("environment %q: %v", l.Env(), err)
	}
	if o.Case != l.Case.Name || o.Config.Sleep != 1 || o.Config.Settings["a"] != "b" || o.Dir != "/d" {
		t.Errorf("the rank would read %+v", o)
	}
}

func TestOutputFindsKills(t *testing.T) {
	var o Output
	var killed []core.Rank
	write := func(s string) {
		if n, err := o.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatal(n, err)
		}
	}
	write("a line\n" + killMark + "3\n")
	if killed != nil {
		t.Errorf("killed %v before the job runs", killed)
	}
	o.Kill(func(r core.Rank) { killed = append(killed, r) })
	write("x " + killMark + "4\n" + killMark + "no number\n")
	write(killMark + "1\nanother\n")
	if want := []core.Rank{3, 1}; !slices.Equal(killed, want) {
		t.Errorf("killed %v, want %v", killed, want)
	}
	if !strings.HasPrefix(o.String(), "a line\n") || !strings.HasSuffix(o.String(), "another\n") {
		t.Errorf("output %q", o.String())
	}
}
