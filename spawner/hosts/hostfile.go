package hosts

import (
	"fmt"
	"strings"
)

// ParseList reads hosts from the value of --host: NAME or NAME:SLOTS, joined by commas, with ranges as Expand has them.
// The slots of a host that is named several times add up.
func ParseList(text string) ([]Host, error) {
	var l list
	for _, part := range splitList(text) {
		if part == "" {
			return nil, fmt.Errorf("--host %s: a name is missing; want NAME or NAME:SLOTS, joined by commas", shorten(text))
		}
		names, slots, err := parseNames(part)
		if err != nil {
			return nil, fmt.Errorf("--host: host %s: %w", shorten(part), err)
		}
		if err := l.addAll(names, entry{slots: slots, from: "--host"}); err != nil {
			return nil, err
		}
	}
	return l.hosts, nil
}

// splitList splits at commas outside of brackets.
func splitList(text string) (parts []string) {
	depth, begin := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth == 0 {
				parts, begin = append(parts, text[begin:i]), i+1
			}
		}
	}
	return append(parts, text[begin:])
}

// ParseFile reads hosts from the text of a file of that name, as Open MPI and MPICH write them. A line is a host,
// as NAME or NAME:SLOTS with ranges as Expand has them, and then perhaps slots=N and max_slots=N (or max-slots=N); the
// former is by default the latter, or else 1. What follows # is a comment. A host is listed once with its slots, or
// without a number once for each; a mixture is an error, as with Open MPI.
func ParseFile(name, text string) ([]Host, error) {
	l := list{once: true}
	err := eachLine(name, text, func(from string, words []string) error {
		names, slots, err := parseNames(words[0])
		if err != nil {
			return fmt.Errorf("%s: host %s: %w", from, shorten(words[0]), err)
		}
		e := entry{slots: slots, from: from}
		for _, w := range words[1:] {
			if err := e.set(w); err != nil {
				return fmt.Errorf("%s: host %s: %w", from, shorten(words[0]), err)
			}
		}
		return l.addAll(names, e)
	})
	if err == nil && len(l.hosts) == 0 {
		err = fmt.Errorf("%s names no host", name)
	}
	return l.hosts, err
}

// set takes KEY=N of a line.
func (e *entry) set(word string) error {
	key, value, _ := strings.Cut(word, "=")
	to := &e.slots
	switch key {
	case "slots":
	case "max_slots", "max-slots":
		to = &e.max
	default:
		return fmt.Errorf("unknown key %q; known: slots=N, max_slots=N", shorten(word))
	}
	if *to > 0 {
		return fmt.Errorf("%s is given twice", key)
	}
	n, err := parseCount(value)
	if err != nil {
		return fmt.Errorf("%s: %w", shorten(word), err)
	}
	*to = n
	return nil
}

// eachLine calls f for the words of each line that has some, with the line's place in the file.
func eachLine(name, text string, f func(from string, words []string) error) error {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(line, "#")
		if words := strings.Fields(line); len(words) > 0 {
			if err := f(fmt.Sprintf("%s:%d", name, n), words); err != nil {
				return err
			}
		}
	}
	return nil
}
