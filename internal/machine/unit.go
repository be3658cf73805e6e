package machine

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Bytes is an amount of memory. Units in files: B, KB (1024 B), MB (1024 KB).
type Bytes int64

// Rate is how fast bytes pass, kept as femtoseconds per byte, so that times are the same on
// every processor. Units in files: MB/s and GB/s (powers of ten), ns/B and ps/B.
type Rate int64

// Time returns how long n bytes take, rounded down to a picosecond.
func (r Rate) Time(n int) vtime.Time { return vtime.Time(int64(n) * int64(r) / 1000) }

// Period is the time of one clock cycle. Units in files: MHz and GHz.
type Period vtime.Time

// Time returns how long n cycles take.
func (p Period) Time(n int) vtime.Time { return vtime.Time(n) * vtime.Time(p) }

// Chance is a probability in parts per billion. Units in files: ppm and ppb.
type Chance int64

// Certain is the chance of what always happens.
const Certain Chance = 1_000_000_000

// unit is a unit that files may use: what kind of value it makes and how many of the kind's
// smallest units it is.
type unit struct {
	kind    reflect.Type
	scale   int64
	inverse bool // the value is scale / number
}

var (
	timeKind   = reflect.TypeFor[vtime.Time]()
	bytesKind  = reflect.TypeFor[Bytes]()
	rateKind   = reflect.TypeFor[Rate]()
	periodKind = reflect.TypeFor[Period]()
	chanceKind = reflect.TypeFor[Chance]()
	countKind  = reflect.TypeFor[int]()
	wordKind   = reflect.TypeFor[string]()
)

var units = map[string]unit{
	"ps":    {timeKind, int64(vtime.Picosecond), false},
	"ns":    {timeKind, int64(vtime.Nanosecond), false},
	"us":    {timeKind, int64(vtime.Microsecond), false},
	"ms":    {timeKind, int64(vtime.Millisecond), false},
	"s":     {timeKind, int64(vtime.Second), false},
	"B":     {bytesKind, 1, false},
	"KB":    {bytesKind, 1 << 10, false},
	"MB":    {bytesKind, 1 << 20, false},
	"ps/B":  {rateKind, 1e3, false},
	"ns/B":  {rateKind, 1e6, false},
	"MB/s":  {rateKind, 1e9, true},
	"GB/s":  {rateKind, 1e6, true},
	"MHz":   {periodKind, 1e6, true},
	"GHz":   {periodKind, 1e3, true},
	"ppb":   {chanceKind, 1, false},
	"ppm":   {chanceKind, 1000, false},
	"count": {countKind, 1, false},
	"word":  {wordKind, 0, false},
}

// kindNames are the units that each kind of value can be written in, for messages.
var kindNames = map[reflect.Type]string{
	timeKind:   "a time (ps ns us ms s)",
	bytesKind:  "an amount of memory (B KB MB)",
	rateKind:   "a rate (MB/s GB/s ns/B ps/B)",
	periodKind: "a clock (MHz GHz)",
	chanceKind: "a chance (ppm ppb)",
	countKind:  "a count",
	wordKind:   "a word",
}

// Bounds of quantities, within which sums do not overflow, nor a rate or a period that is
// multiplied by some million.
const (
	maxQuantity   = math.MaxInt64 / 1000
	maxMultiplied = 1_000_000_000_000
)

// maxDigits bounds the length of a number, and so the work that one can make.
const maxDigits = 24

// number returns the exact value of digits with at most one point in them: no sign, no
// exponent, nothing negative.
func number(text string) (*big.Rat, error) {
	whole, fraction, point := strings.Cut(text, ".")
	if len(text) > maxDigits || !digits(whole) || point && !digits(fraction) {
		return nil, fmt.Errorf("%q is not a number such as 12 or 0.35", text)
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, fmt.Errorf("%q is not a number such as 12 or 0.35", text)
	}
	return r, nil
}

func digits(s string) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}

// IsUnit reports whether a unit is one of the kind of T, which is a type that fields of a machine may have.
func IsUnit[T any](name string) bool { return units[name].kind == reflect.TypeFor[T]() }

// Quantity returns a number in a unit of the kind of T, as it would be read from a file.
func Quantity[T ~int | ~int64](number, unit string) (T, error) {
	if !IsUnit[T](unit) {
		return 0, fmt.Errorf("%q is not %s", unit, kindNames[reflect.TypeFor[T]()])
	}
	n, err := quantity(number, units[unit])
	return T(n), err
}

// quantity returns text, in a unit, as a whole number of the smallest units of its kind.
// Times, amounts and counts must be whole; rates, clocks and chances are rounded.
func quantity(text string, u unit) (int64, error) {
	r, err := number(text)
	if err != nil {
		return 0, err
	}
	scale := new(big.Rat).SetInt64(u.scale)
	switch {
	case !u.inverse:
		r.Mul(r, scale)
	case r.Sign() == 0:
		return 0, fmt.Errorf("must not be 0")
	default:
		r.Quo(scale, r)
	}
	exact := u.kind == timeKind || u.kind == bytesKind || u.kind == countKind
	if exact && !r.IsInt() {
		return 0, fmt.Errorf("%q is not a whole number of the smallest unit", text)
	}
	n, most := round(r), int64(maxQuantity)
	if u.kind == rateKind || u.kind == periodKind {
		most = maxMultiplied
	}
	if !n.IsInt64() || n.Int64() > most || r.Sign() > 0 && n.Sign() == 0 {
		return 0, fmt.Errorf("%q is out of range", text)
	}
	if u.kind == chanceKind && n.Int64() > int64(Certain) {
		return 0, fmt.Errorf("a chance of %q is more than certain", text)
	}
	return n.Int64(), nil
}

// round returns the nearest whole number, halves upwards.
func round(r *big.Rat) *big.Int {
	half := new(big.Rat).Add(r, big.NewRat(1, 2))
	return new(big.Int).Div(half.Num(), half.Denom())
}
