package impair

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// setting is one key of the text form of Settings.
type setting struct {
	key   string
	value func(*Settings) value
}

// value is a part of Settings that can be read from text and written as text.
type value interface {
	parse(string) error
	String() string // "" if it is zero
}

// settings are all keys, in the order in which String writes them.
var settings = []setting{
	{"loss", func(s *Settings) value { return (*share)(&s.Loss) }},
	{"burst", func(s *Settings) value { return (*number)(&s.Burst) }},
	{"dup", func(s *Settings) value { return (*share)(&s.Duplicate) }},
	{"reorder", func(s *Settings) value { return (*share)(&s.Reorder) }},
	{"hold", func(s *Settings) value { return (*span)(&s.Hold) }},
	{"corrupt", func(s *Settings) value { return (*share)(&s.Corrupt) }},
	{"truncate", func(s *Settings) value { return (*share)(&s.Truncate) }},
	{"delay", func(s *Settings) value { return (*span)(&s.Delay) }},
	{"jitter", func(s *Settings) value { return (*span)(&s.Jitter) }},
	{"rate", func(s *Settings) value { return (*rate)(&s.Rate) }},
	{"queue", func(s *Settings) value { return (*count)(&s.Queue) }},
	{"mtu", func(s *Settings) value { return (*count)(&s.MTU) }},
}

// Parse reads settings such as
//
//	loss=10%,burst=3,dup=2%,reorder=5%,hold=2ms,corrupt=1%,truncate=1%,delay=1ms,jitter=200us,rate=1gbit,queue=100,mtu=1400
//
// in any order, each at most once. Shares are percentages (10%) or fractions (0.1), times as
// time.ParseDuration reads them, rates numbers with bit, kbit, mbit or gbit (powers of 1000).
// The empty text is a perfect link.
func Parse(text string) (Settings, error) {
	var s Settings
	if text == "" {
		return s, nil
	}
	given := make(map[string]bool)
	for item := range strings.SplitSeq(text, ",") {
		key, val, ok := strings.Cut(item, "=")
		i := slices.IndexFunc(settings, func(k setting) bool { return k.key == key })
		switch {
		case i < 0:
			return Settings{}, fmt.Errorf("impair: unknown setting %q; known: %s", key, keys())
		case !ok:
			return Settings{}, fmt.Errorf("impair: setting %s has no value; want %s=VALUE", key, key)
		case given[key]:
			return Settings{}, fmt.Errorf("impair: setting %s is given twice; give it once", key)
		}
		given[key] = true
		if err := settings[i].value(&s).parse(val); err != nil {
			return Settings{}, fmt.Errorf("impair: %s=%s: %w", key, val, err)
		}
	}
	if err := s.Check(); err != nil {
		return Settings{}, err
	}
	return s, nil
}

// keys lists what may be set.
func keys() string {
	var names []string
	for _, k := range settings {
		names = append(names, k.key)
	}
	return strings.Join(names, ", ")
}

// String returns the text that Parse reads as s.
func (s Settings) String() string {
	var items []string
	for _, k := range settings {
		if text := k.value(&s).String(); text != "" {
			items = append(items, k.key+"="+text)
		}
	}
	return strings.Join(items, ",")
}

// share is a probability.
type share float64

func (p *share) parse(text string) error {
	digits, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(digits, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return errors.New("want a share from 0% to 100%, such as 2.5% or 0.025")
	}
	*p = share(v)
	return nil
}

func (p *share) String() string { return (*number)(p).String() }

// number is a number.
type number float64

func (n *number) parse(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return errors.New("want a number, such as 3 or 2.5")
	}
	*n = number(v)
	return nil
}

func (n *number) String() string {
	if *n == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*n), 'g', -1, 64)
}

// span is a time.
type span time.Duration

func (d *span) parse(text string) error {
	v, err := time.ParseDuration(text)
	if err != nil {
		return errors.New("want a time, such as 200us or 1.5ms")
	}
	*d = span(v)
	return nil
}

func (d *span) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

// rateUnits are those of tc(8), in bits per second.
var rateUnits = []struct {
	name string
	bits float64
}{{"gbit", 1e9}, {"mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}

// rate is a number of bits per second.
type rate float64

func (r *rate) parse(text string) error {
	for _, u := range rateUnits {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(digits, 64)
		if err != nil || !(v > 0) {
			break
		}
		*r = rate(v * u.bits)
		return nil
	}
	return errors.New("want a rate with its unit, such as 10mbit or 1gbit")
}

func (r *rate) String() string {
	if *r == 0 {
		return ""
	}
	return (*number)(r).String() + "bit"
}

// count is a number of things, at least one.
type count int

func (c *count) parse(text string) error {
	v, err := strconv.Atoi(text)
	if err != nil || v < 1 {
		return errors.New("want a number from 1")
	}
	*c = count(v)
	return nil
}

func (c *count) String() string {
	if *c == 0 {
		return ""
	}
	return strconv.Itoa(int(*c))
}
