package settings

import (
	"cmp"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/size"
)

// Named is a value with a name.
type Named[T any] struct {
	Name  string
	Value T
}

// Is names a value, in a choice, or beside numbers, such as "off".
func Is[T any](name string, value T) Named[T] { return Named[T]{name, value} }

// byName returns the value of that name.
func byName[T any](names []Named[T], name string) (v T, ok bool) {
	for _, n := range names {
		if n.Name == name {
			return n.Value, true
		}
	}
	return v, false
}

// nameOf returns the name of a value, or "".
func nameOf[T comparable](names []Named[T], v T) string {
	for _, n := range names {
		if n.Value == v {
			return n.Name
		}
	}
	return ""
}

// list returns "a, b or c".
func list[T any](names []Named[T]) string {
	var b strings.Builder
	for i, n := range names {
		switch {
		case i > 0 && i == len(names)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(n.Name)
	}
	return b.String()
}

// bound fills in what follows from the binding.
func (s Setting) bound(set func(string) bool, get func() string) Setting {
	s.set, s.get, s.Default = set, get, get()
	return s
}

// ranged is a setting with an order among its values, which lie from least to most; beside these some
// have names.
func ranged[T cmp.Ordered](s Setting, to *T, least, most, endless T, parse func(string) (T, error), show func(T) string, names []Named[T]) Setting {
	s.Range = show(least) + " to " + show(most)
	if most == endless {
		s.Range = show(least) + " or more"
	}
	if len(names) > 0 {
		s.Range += ", or " + list(names)
	}
	set := func(value string) bool {
		v, ok := byName(names, value)
		if !ok {
			var err error
			v, err = parse(value)
			ok = err == nil && v >= least && v <= most
		}
		if ok {
			*to = v
		}
		return ok
	}
	return s.bound(set, func() string { return cmp.Or(nameOf(names, *to), show(*to)) })
}

// Int is a whole number from least to most, where math.MaxInt is no limit.
func Int(key string, to *int, least, most int, help string, names ...Named[int]) Setting {
	s := Setting{Key: key, Kind: "number", Help: help, noun: "a whole number"}
	return ranged(s, to, least, most, math.MaxInt, strconv.Atoi, strconv.Itoa, names)
}

// PowerOfTwo is a whole number from least to most that is a power of two.
func PowerOfTwo(key string, to *int, least, most int, help string) Setting {
	parse := func(value string) (int, error) {
		n, err := strconv.Atoi(value)
		if err == nil && bits.OnesCount(uint(n)) != 1 {
			err = strconv.ErrRange
		}
		return n, err
	}
	s := Setting{Key: key, Kind: "number", Help: help, noun: "a power of two"}
	return ranged(s, to, least, most, math.MaxInt, parse, strconv.Itoa, nil)
}

// Size is a number of bytes from least to most, where math.MaxInt is no limit, in the words of
// core.ParseSize without percentages.
func Size(key string, to *int, least, most int, help string, names ...Named[int]) Setting {
	parse := func(value string) (int, error) { return size.Parse(value, 0) }
	s := Setting{Key: key, Kind: "size", Help: help, noun: "a size such as 4096 or 64KB"}
	return ranged(s, to, least, most, math.MaxInt, parse, size.Format, names)
}

// Rate is a number with a fraction, from least to most.
func Rate(key string, to *float64, least, most float64, help string) Setting {
	parse := func(value string) (float64, error) { return strconv.ParseFloat(value, 64) } // NaN is in no range
	show := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	s := Setting{Key: key, Kind: "number", Help: help, noun: "a number such as 1.5e9"}
	return ranged(s, to, least, most, math.Inf(1), parse, show, nil)
}

// Forever is no limit of a time.
const Forever time.Duration = math.MaxInt64

// Time is a time from least to most.
func Time(key string, to *time.Duration, least, most time.Duration, help string) Setting {
	s := Setting{Key: key, Kind: "time", Help: help, noun: "a time such as 10us or 2.5s"}
	return ranged(s, to, least, most, Forever, time.ParseDuration, showTime, nil)
}

// showTime writes a time in plain letters and without parts that are 0.
func showTime(d time.Duration) string {
	text := strings.ReplaceAll(d.String(), "µ", "u")
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Choice is one of some values that have names.
func Choice[T comparable](key string, to *T, help string, names ...Named[T]) Setting {
	s := Setting{Key: key, Kind: "choice", Range: list(names), Help: help}
	set := func(value string) bool {
		v, ok := byName(names, value)
		if ok {
			*to = v
		}
		return ok
	}
	return s.bound(set, func() string { return nameOf(names, *to) })
}

// Switch is on or off. It takes yes and no for these.
func Switch(key string, to *bool, help string) Setting {
	s := Choice(key, to, help, Is("on", true), Is("off", false))
	choose := s.set
	s.set = func(value string) bool {
		switch value {
		case "yes":
			value = "on"
		case "no":
			value = "off"
		}
		return choose(value)
	}
	return s
}

// Text is any text but the empty one, which is the default if the variable is so; what says in words
// what it is.
func Text(key string, to *string, what, help string) Setting {
	s := Setting{Key: key, Kind: "text", Range: what, Help: help}
	set := func(value string) bool {
		if value != "" {
			*to = value
		}
		return value != ""
	}
	return s.bound(set, func() string { return *to })
}

// File is the path of a file. A relative one begins where the job was started, wherever its ranks then are.
func File(key string, to *string, help string) Setting {
	return NameOrFile(key, to, func(string) bool { return true }, "the path of a file", help)
}

// NameOrFile is a name, or, where isPath says so, the path of a file as File has it; what says in words what
// it is.
func NameOrFile(key string, to *string, isPath func(value string) bool, what, help string) Setting {
	s := Text(key, to, what, help)
	s.Kind, s.path = "file", isPath
	return s
}
