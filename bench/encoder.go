package bench

import (
	"fmt"
	"io"
	"strings"
)

// An Encoder writes a report in one format. Header comes first, and again whenever the
// conditions change; Series follow as they are finished. Nothing is buffered between
// calls.
type Encoder interface {
	Header(h *Header) error
	Series(s *Series) error
}

// formats lists the encoders by the names users know them by.
var formats = []struct {
	name string
	new  func(io.Writer) Encoder
}{
	{"table", func(w io.Writer) Encoder { return &table{w: w} }},
	{"osu", func(w io.Writer) Encoder { return &osu{w: w} }},
	{"gobench", func(w io.Writer) Encoder { return &gobench{w: w} }},
	{"json", func(w io.Writer) Encoder { return &jsonLines{w: w} }},
	{"csv", func(w io.Writer) Encoder { return NewCSV(w) }},
}

// Formats returns the names that NewEncoder knows, the default first: table (for
// people), osu (for programs that read the OSU benchmarks), gobench (for benchstat), json (one object
// per result) and csv (one row per result and unit).
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// NewEncoder returns an encoder of the named format that writes to w.
func NewEncoder(format string, w io.Writer) (Encoder, error) {
	for _, f := range formats {
		if f.name == format {
			return f.new(w), nil
		}
	}
	return nil, fmt.Errorf("bench: unknown format %q; known: %s", format, strings.Join(Formats(), ", "))
}

// decimal formats v with two decimals, and with more where these would leave fewer than
// four significant digits.
func decimal(v float64) string {
	digits := 2
	for x := v; x > 0 && x < 10 && digits < 8; x *= 10 {
		digits++
	}
	return fmt.Sprintf("%.*f", digits, v)
}
