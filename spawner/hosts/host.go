// Package hosts says on which hosts the ranks of a job run: it reads lists of hosts as people and batch systems write
// them, and places ranks on their slots. It is text and arithmetic: it starts nothing and asks no network.
//
// A slot is room for one rank. A host that is named without a number of slots has one. Names are compared without
// regard to case, and not resolved: two names of one host are two hosts.
package hosts

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// MaxRanks is how many ranks a job has at most, and therefore how many hosts a list may name and how many slots a
// host may have.
const MaxRanks = 65536

// maxName is how long the name of a host may be (RFC 1035, section 2.3.4: 255 octets on the wire).
const maxName = 253

// Host is a host of a list.
type Host struct {
	Name  string // a name or an address, without brackets; not resolved
	Slots int    // 1 to MaxRanks
	Max   int    // ranks that it takes even where slots may be oversubscribed, at least Slots; 0: no such limit
	From  string // who names it first: "--host", "hosts.txt:3", "SLURM_JOB_NODELIST"
}

// entry is one mention of a host.
type entry struct {
	name       string
	slots, max int // 0: not said
	from       string
}

// list gathers the mentions of hosts into hosts, in the order of their first mention.
type list struct {
	hosts   []Host
	index   map[string]int  // by name in lower case
	counted map[string]bool // whose slots are said
	once    bool            // a host whose slots are said is mentioned once
}

// add enters a mention.
func (l *list) add(e entry) error {
	key := strings.ToLower(e.name)
	counted := e.slots > 0 || e.max > 0
	if e.slots == 0 {
		e.slots = max(e.max, 1)
	}
	if e.max > 0 && e.max < e.slots {
		return fmt.Errorf("%s: host %s has %d slots but max_slots=%d; want max_slots of %[3]d or more", e.from, e.name, e.slots, e.max)
	}
	i, again := l.index[key]
	if !again {
		if len(l.hosts) == MaxRanks {
			return fmt.Errorf("%s: host %s is one too many; a job has at most %d hosts", e.from, e.name, MaxRanks)
		}
		if l.index == nil {
			l.index, l.counted = make(map[string]int), make(map[string]bool)
		}
		l.index[key], l.counted[key] = len(l.hosts), counted
		l.hosts = append(l.hosts, Host{Name: e.name, Slots: e.slots, Max: e.max, From: e.from})
		return nil
	}
	h := &l.hosts[i]
	if l.once && (counted || l.counted[key]) {
		return fmt.Errorf("%s: host %s is named again, first at %s; name it once with all its slots, or once for each slot without a number", e.from, e.name, h.From)
	}
	if h.Slots += e.slots; h.Slots > MaxRanks {
		return fmt.Errorf("%s: host %s has %d slots together; a job has at most %d ranks", e.from, e.name, h.Slots, MaxRanks)
	}
	return nil
}

// addAll enters a mention for each name.
func (l *list) addAll(names []string, e entry) error {
	for _, e.name = range names {
		if err := l.add(e); err != nil {
			return err
		}
	}
	return nil
}

// parseNames reads NAME or NAME:SLOTS, where NAME may have ranges or be an IPv6 address in brackets. It returns 0 slots
// if none are said.
func parseNames(text string) (names []string, slots int, err error) {
	name, number, counted := text, "", false
	if inside, after, ok := strings.Cut(strings.TrimPrefix(text, "["), "]"); text[0] == '[' && ok && strings.Contains(inside, ":") {
		a, err := netip.ParseAddr(inside)
		if err != nil {
			return nil, 0, fmt.Errorf("%s is no IPv6 address", inside)
		}
		if zone := a.Zone(); zone != "" {
			if err := checkName(zone); err != nil {
				return nil, 0, err
			}
		}
		names = []string{a.String()}
		if number, counted = strings.CutPrefix(after, ":"); !counted && after != "" {
			return nil, 0, fmt.Errorf("what follows the address is %q, want nothing or :SLOTS", after)
		}
	} else {
		if strings.Count(text, ":") > 1 {
			return nil, 0, fmt.Errorf("want NAME or NAME:SLOTS; write an IPv6 address in brackets, as in [2001:db8::1]:2")
		}
		if name, number, counted = strings.Cut(text, ":"); name == "" {
			return nil, 0, fmt.Errorf("the name is missing")
		}
		if names, err = Expand(name); err != nil {
			return nil, 0, err
		}
	}
	if counted {
		slots, err = parseCount(number)
	}
	return names, slots, err
}

// parseCount reads a number of slots.
func parseCount(text string) (int, error) {
	n, err := strconv.Atoi(text)
	switch {
	case err == nil && n == 0:
		return 0, fmt.Errorf("0 slots have room for no rank; leave the host out")
	case err != nil || n < 0 || n > MaxRanks:
		return 0, fmt.Errorf("%q is no number of slots; want 1 to %d", text, MaxRanks)
	}
	return n, nil
}

// checkName refuses what is no name of a host. A name that began with a hyphen would be an option to the programs that
// are given it.
func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("the name is missing")
	case len(name) > maxName:
		return fmt.Errorf("the name has more than %d characters", maxName)
	case name[0] == '-' || name[0] == '.':
		return fmt.Errorf("%q is no name of a host: it begins with %q", name, name[0])
	}
	for _, c := range name {
		switch {
		case c == '@':
			return fmt.Errorf("%q is a user on a host; give the host alone, and the user to the launcher: to ssh by User in ~/.ssh/config", name)
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune("-._", c):
		default:
			return fmt.Errorf("%q is no name of a host: it has the character %q; want letters, digits, hyphens and dots", name, c)
		}
	}
	return nil
}
