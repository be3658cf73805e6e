package hosts

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxDigits is how many digits a number in a range may have.
const maxDigits = 9

// Expand returns the names that a text with ranges stands for, as Slurm writes them: node[01-03,7] is node01, node02,
// node03 and node7. A number that begins with 0 gives the width. Ranges may stand in several places; the last one
// changes fastest. What stands for more than MaxRanks names, or for something that is no name, is an error.
func Expand(text string) ([]string, error) {
	names := []string{""}
	for rest := text; rest != ""; {
		before, inside := rest, ""
		set := []string{""}
		var open bool
		if before, rest, open = strings.Cut(rest, "["); open {
			var closed bool
			if inside, rest, closed = strings.Cut(rest, "]"); !closed {
				return nil, errors.New("a bracket is not closed")
			}
			var err error
			if set, err = parseRanges(inside); err != nil {
				return nil, err
			}
		}
		if len(names)*len(set) > MaxRanks {
			return nil, fmt.Errorf("it stands for more than %d hosts", MaxRanks)
		}
		longer := make([]string, 0, len(names)*len(set))
		for _, n := range names {
			if len(n)+len(before) > maxName {
				return nil, fmt.Errorf("the name has more than %d characters", maxName)
			}
			for _, s := range set {
				longer = append(longer, n+before+s)
			}
		}
		names = longer
	}
	for _, n := range names {
		if err := checkName(n); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// parseRanges returns the numbers of 1,3-5.
func parseRanges(text string) (numbers []string, err error) {
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err1 := parseNumber(from)
		last, err2 := parseNumber(to)
		switch {
		case err1 != nil || err2 != nil:
			return nil, fmt.Errorf("%q is no range; want numbers of at most %d digits, as in [1-4,7]", part, maxDigits)
		case last < first:
			return nil, fmt.Errorf("the range %s runs backwards; want %s-%s", part, to, from)
		case len(numbers)+last-first >= MaxRanks:
			return nil, fmt.Errorf("the range %s has too many numbers; a job has at most %d hosts", part, MaxRanks)
		}
		width := 0
		if from[0] == '0' {
			width = len(from)
		}
		for n := first; n <= last; n++ {
			numbers = append(numbers, fmt.Sprintf("%0*d", width, n))
		}
	}
	return numbers, nil
}

// parseNumber reads digits.
func parseNumber(text string) (int, error) {
	if len(text) > maxDigits || strings.Trim(text, "0123456789") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.Atoi(text)
}

// shorten makes a text fit for a message.
func shorten(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}
