package coll

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Table says which algorithm carries out which call: that of the first line that fits.
type Table struct{ lines []line }

type line struct {
	op      Op
	teams   Teams
	members int // at most, 0 for any number
	bytes   int // at most, -1 for any number
	choice  Choice
}

// Teams is a kind of teams that a table tells apart.
type Teams uint8

const (
	AllTeams   Teams = iota
	ReachTeams       // all members reach each other's Shm
	HostsTeams       // not so, and some members share a host and others do not
)

var teamsNames = [...]string{"any", "reach", "hosts"}

func (t Teams) String() string { return teamsNames[t] }

// TeamsOf returns the kind of the team of a call, AllTeams if it is neither of the others.
func TeamsOf(c *Call) Teams {
	switch {
	case c.Reach:
		return ReachTeams
	case c.Hosts != nil:
		return HostsTeams
	}
	return AllTeams
}

//go:embed tune.txt
var tuned string

// Default returns the table that comes with the package, tune.txt.
var Default = sync.OnceValue(func() *Table {
	t, err := ParseTable(tuned)
	if err != nil {
		panic(fmt.Sprintf("coll: tune.txt: %v", err)) // a test parses it
	}
	return t
})

// ParseTable reads a table: lines of
//
//	operation  any|reach|hosts  members  bytes  algorithm[:parameter]
//
// of which the second says for which Teams, members and bytes (Call.Bytes) are upper bounds or * for none, and # begins a
// comment. A line whose algorithm does not apply to a call is passed over. The last line of
// every operation must fit any call.
func ParseTable(text string) (*Table, error) {
	t := new(Table)
	last := make(map[Op]line)
	for i, s := range strings.Split(text, "\n") {
		s, _, _ = strings.Cut(s, "#")
		fields := strings.Fields(s)
		if len(fields) == 0 {
			continue
		}
		l, err := parseLine(fields)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		t.lines = append(t.lines, l)
		last[l.op] = l
	}
	for op := Barrier; op < ScatterV; op++ {
		l, ok := last[op]
		if !ok {
			return nil, fmt.Errorf("there is no line for %v", op)
		}
		if l.teams != AllTeams || l.members != 0 || l.bytes >= 0 || l.choice.Algorithm.ok != nil {
			return nil, fmt.Errorf("the last line for %v must be for any call, by an algorithm that always applies", op)
		}
	}
	return t, nil
}

func parseLine(fields []string) (l line, err error) {
	if len(fields) != 5 {
		return l, fmt.Errorf("%d fields; want operation, any|reach|hosts, members, bytes, algorithm", len(fields))
	}
	if l.op, err = ParseOp(fields[0]); err != nil {
		return l, err
	}
	i := slices.Index(teamsNames[:], fields[1])
	if i < 0 {
		return l, fmt.Errorf("%q is none of %v", fields[1], teamsNames)
	}
	l.teams = Teams(i)
	if l.members, err = parseBound(fields[2], 1, 0); err != nil {
		return l, fmt.Errorf("members: %w", err)
	}
	if l.bytes, err = parseBound(fields[3], 0, -1); err != nil {
		return l, fmt.Errorf("bytes: %w", err)
	}
	l.choice, err = parseChoice(l.op, fields[4])
	return l, err
}

func parseBound(s string, least, none int) (int, error) {
	if s == "*" {
		return none, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < least {
		return 0, fmt.Errorf("%q is neither a number from %d nor *", s, least)
	}
	return n, nil
}

// String returns the table as ParseTable reads it.
func (t *Table) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %-10s  %-5s  %7s  %8s  %s\n", "operation", "teams", "members", "bytes", "algorithm")
	for i, l := range t.lines {
		if i > 0 && t.lines[i-1].op != l.op {
			b.WriteByte('\n')
		}
		members, bytes := "*", "*"
		if l.members > 0 {
			members = strconv.Itoa(l.members)
		}
		if l.bytes >= 0 {
			bytes = strconv.Itoa(l.bytes)
		}
		fmt.Fprintf(&b, "%-12s  %-5s  %7s  %8s  %v\n", strings.ToLower(l.op.String()), l.teams, members, bytes, l.choice)
	}
	return b.String()
}

// Choose returns the algorithm for a call; false only for an operation that has none. All
// members of a call come to the same.
func (t *Table) Choose(c *Call) (Choice, bool) {
	teams := TeamsOf(c)
	for i := range t.lines {
		l := &t.lines[i]
		if l.op == c.Op && (l.teams == AllTeams || l.teams == teams) && (l.members == 0 || c.N <= l.members) &&
			(l.bytes < 0 || c.Bytes <= l.bytes) && l.choice.Algorithm.Applies(c) {
			return l.choice, true
		}
	}
	return Choice{}, false
}

// Forced are algorithms that are taken instead of the table's, for calls they apply to.
type Forced map[Op]Choice

// ParseForced reads a list such as "allreduce=ring,broadcast=knomial:4". It is the same on
// all ranks of a job.
func ParseForced(text string) (Forced, error) {
	f := make(Forced)
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		name, algorithm, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("%q is no operation=algorithm", part)
		}
		op, err := ParseOp(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		if _, ok := f[op]; ok {
			return nil, errors.New(op.String() + " is given twice")
		}
		if f[op], err = parseChoice(op, strings.TrimSpace(algorithm)); err != nil {
			return nil, err
		}
	}
	return f, nil
}
