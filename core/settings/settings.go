// Package settings is how conduits state, read and refuse their settings, what users say by KEY=VALUE. A
// conduit has a [Table] of them, each bound to the variable that it sets, whose value is the default. The
// table is what reads them, what core and aqrun check them by before anything starts, and what
// "aqrun conduits NAME" prints.
package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Setting is one entry of a table. Int, Size and the like make it.
type Setting struct {
	Key     string // no comma and no "="
	Kind    string // "number", "size", "time", "choice", "text" or "file"
	Range   string // the values that there are, in words, such as "1 to 4096"
	Default string // the value that the variable has before anything is read
	Help    string // what it means, without a full stop
	Own     bool   // the ranks of a job need not give it the same value

	noun string                  // what to write, in words; Range follows; "": Range says all
	set  func(value string) bool // sets the variable; false: the value is not one
	get  func() string           // the variable's value, as set would take it
	path func(value string) bool // the value is the path of a file; nil: never is
	not  string                  // why no value has a meaning; "": it has
}

// OwnPerRank lets the ranks of a job give the setting different values.
func (s Setting) OwnPerRank() Setting { s.Own = true; return s }

// Only refuses all values of the setting, with a reason, unless it has a meaning.
func (s Setting) Only(meaning bool, why string) Setting {
	if !meaning {
		s.not = why
	}
	return s
}

// Refused returns why the setting has no meaning in the variant whose table this is, or "".
func (s *Setting) Refused() string { return s.not }

// Want says in words what values there are.
func (s *Setting) Want() string {
	if s.noun == "" {
		return s.Range
	}
	return s.noun + ", " + s.Range
}

// Table is the settings of a conduit, in the order in which they are listed.
type Table []Setting

// Error refuses a setting. Every refusal, also one that a conduit finds out for itself, has this form.
type Error struct {
	Conduit, Key, Value string
	Why                 string // what is wrong with it, and what to do
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s: setting %s=%q: %s", e.Conduit, e.Key, e.Value, e.Why)
}

// find returns the setting of that key, or nil.
func (t Table) find(key string) *Setting {
	i := slices.IndexFunc(t, func(s Setting) bool { return s.Key == key })
	if i < 0 {
		return nil
	}
	return &t[i]
}

// Read sets the variables of the table to the values that are given, by key. It returns an *Error for a
// key that is not in the table and for a value that the setting cannot have, the first in order of the keys.
func (t Table) Read(conduit string, values map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := values[key]
		var why string
		switch s := t.find(key); {
		case s == nil:
			why = "unknown; " + t.known()
		case s.not != "":
			why = s.not
		case !s.set(value):
			why = "want " + s.Want()
		}
		if why != "" {
			return &Error{conduit, key, value, why}
		}
	}
	return nil
}

// Read reads the values by the table that is returned, if there are any values. A table takes some microseconds,
// which jobs of many ranks save that are given no settings.
func Read(conduit string, values map[string]string, table func() Table) error {
	if len(values) == 0 {
		return nil
	}
	return table().Read(conduit, values)
}

// known lists the keys.
func (t Table) known() string {
	if len(t) == 0 {
		return "there are none"
	}
	var keys []string
	for _, s := range t {
		keys = append(keys, s.Key)
	}
	slices.Sort(keys)
	return "there are " + strings.Join(keys, ", ")
}

// IsFile reports whether the value of a setting is the path of a file.
func (t Table) IsFile(key, value string) bool {
	s := t.find(key)
	return s != nil && s.path != nil && s.path(value)
}

// Shared returns the values of the settings in which all ranks must agree, as far as they are not the
// defaults, as one text: "" if all are. It is called after Read, and what it returns is for Disagree.
func (t Table) Shared() string {
	var b strings.Builder
	for i := range t {
		s := &t[i]
		if v := s.get(); !s.Own && v != s.Default {
			b.WriteString(s.Key + "\x00" + v + "\x00")
		}
	}
	return b.String()
}

// Disagree refuses a setting whose value differs between two ranks, whose tables returned mine and theirs by
// Shared; nil if none does.
func (t Table) Disagree(conduit, mine, theirs string, rank int) error {
	a, b := values(mine), values(theirs)
	for i := range t {
		s := &t[i]
		for _, m := range []map[string]string{a, b} {
			if _, given := m[s.Key]; !given {
				m[s.Key] = s.Default
			}
		}
		if a[s.Key] != b[s.Key] {
			return &Error{conduit, s.Key, a[s.Key], fmt.Sprintf("rank %d has %q; all ranks must have the same", rank, b[s.Key])}
		}
	}
	return nil
}

// values reads what Shared wrote.
func values(shared string) map[string]string {
	m := make(map[string]string)
	words := strings.Split(shared, "\x00")
	for i := 0; i+1 < len(words); i += 2 {
		m[words[i]] = words[i+1]
	}
	return m
}

// Prefixed returns the table of a part of a conduit, as that of the whole has it: with the prefix and a dot
// before each key.
func (t Table) Prefixed(prefix string) Table {
	t = slices.Clone(t)
	for i := range t {
		t[i].Key = prefix + "." + t[i].Key
	}
	return t
}

// Part returns the values that Prefixed puts under the prefix, without it.
func Part(prefix string, values map[string]string) map[string]string {
	part := make(map[string]string)
	for key, value := range values {
		if key, ok := strings.CutPrefix(key, prefix+"."); ok {
			part[key] = value
		}
	}
	return part
}

// Without returns the values whose keys are not in the table.
func (t Table) Without(values map[string]string) map[string]string {
	values = maps.Clone(values)
	maps.DeleteFunc(values, func(key, _ string) bool { return t.find(key) != nil })
	return values
}
