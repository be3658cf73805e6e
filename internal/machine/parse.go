package machine

import (
	"fmt"
	"strings"
)

// maxFile bounds a machine file, in bytes; the largest of ours has a tenth of it.
const maxFile = 256 << 10

// parse reads one file, without what it is based on.
func parse(name, text string) (*File, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("machine: %s: too long; a machine file has at most %d bytes", name, maxFile)
	}
	f := &File{Name: name}
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		where := fmt.Sprintf("%s:%d", name, i+1)
		if err := f.line(where, words); err != nil {
			return nil, fmt.Errorf("machine: %s: %w", where, err)
		}
	}
	return f, nil
}

// line reads one line that is not empty.
func (f *File) line(where string, words []string) error {
	switch words[0] {
	case "about":
		return f.about(words[1:])
	case "base":
		return f.base(words[1:])
	case "part":
		return f.part(where, words[1:])
	case "fit":
		return f.goal(where, words, &f.Fits)
	case "predict":
		return f.goal(where, words, &f.Predictions)
	}
	return f.constant(where, words)
}

func (f *File) about(words []string) error {
	if f.About != "" {
		return fmt.Errorf("a second about line")
	}
	if len(words) == 0 {
		return fmt.Errorf("about what? The line is: about <what the machine is>")
	}
	f.About = strings.Join(words, " ")
	return nil
}

// part reads a line of a machine that consists of others.
func (f *File) part(where string, words []string) error {
	if len(words) != 2 {
		return fmt.Errorf("the line is: part <prefix> <machine>")
	}
	if err := checkName(words[0]); err != nil {
		return err
	}
	for _, p := range f.parts {
		if p.prefix == words[0] {
			return fmt.Errorf("a second part %s", p.prefix)
		}
	}
	f.parts = append(f.parts, part{words[0], words[1], where})
	return nil
}

func (f *File) base(words []string) error {
	switch {
	case len(words) != 1:
		return fmt.Errorf("the line is: base <machine>")
	case f.Base != "":
		return fmt.Errorf("a second base line; a machine has one base")
	case len(f.Constants) > 0 || len(f.Fits) > 0:
		return fmt.Errorf("base comes before the constants that differ from it")
	}
	f.Base = words[0]
	return nil
}

func (f *File) constant(where string, words []string) error {
	const shape = "a constant's line is: <name> <value> <unit> <standing> <source or reason>"
	if len(words) > 2 && isStanding(words[2]) {
		return fmt.Errorf("%s: %q stands where its unit should; %s", words[0], words[2], shape)
	}
	if len(words) < 5 {
		return fmt.Errorf("%q: %s", words[0], shape)
	}
	c := Constant{Name: words[0], Value: words[1], Unit: words[2], Source: strings.Join(words[4:], " "), Where: where}
	if err := checkName(c.Name); err != nil {
		return err
	}
	if old := f.Constant(c.Name); old != nil {
		return fmt.Errorf("%s is already given at %s", c.Name, old.Where)
	}
	if err := c.standing(words[3]); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	if err := c.evaluate(); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	f.Constants = append(f.Constants, c)
	return nil
}

// standing reads published, assumed or fitted(number).
func (c *Constant) standing(text string) error {
	if fit, ok := strings.CutPrefix(text, string(Fitted)+"("); ok {
		if fit, ok = strings.CutSuffix(fit, ")"); ok && checkName(fit) == nil {
			c.Standing, c.Fit = Fitted, fit
			return nil
		}
	}
	switch s := Standing(text); s {
	case Published, Assumed:
		c.Standing = s
		return nil
	}
	return fmt.Errorf("standing %q; it is published, assumed, or fitted(<number>)", text)
}

// isStanding tells whether a word is one, which is what follows where a unit is left out or
// written together with the value.
func isStanding(word string) bool { return new(Constant).standing(word) == nil }

// evaluate works the value out.
func (c *Constant) evaluate() (err error) {
	var known bool
	if c.unit, known = units[c.Unit]; !known {
		return fmt.Errorf("unknown unit %q; known are ps ns us ms s, B KB MB, MB/s GB/s ns/B ps/B, MHz GHz, ppm ppb, count, word", c.Unit)
	}
	if c.unit.kind == wordKind {
		return checkName(c.Value)
	}
	c.quantity, err = quantity(c.Value, c.unit)
	return err
}

// goal reads a fit line, or a predict line, which has a tolerance before the source.
func (f *File) goal(where string, words []string, to *[]Goal) error {
	shape, fixed := "<name> <value> <unit> <source>", 4
	if words[0] == "predict" {
		shape, fixed = "<name> <value> <unit> <tolerance>% <source>", 5
	}
	if len(words) <= fixed {
		return fmt.Errorf("the line is: %s %s", words[0], shape)
	}
	g := Goal{Name: words[1], Value: words[2], Unit: words[3], Source: strings.Join(words[fixed:], " "), Where: where}
	if err := checkName(g.Name); err != nil {
		return err
	}
	if old := findGoal(*to, g.Name); old != nil {
		return fmt.Errorf("%s is already given at %s", g.Name, old.Where)
	}
	value, err := number(g.Value)
	if err != nil {
		return fmt.Errorf("%s: %w", g.Name, err)
	}
	if g.number, _ = value.Float64(); g.number == 0 {
		return fmt.Errorf("%s: must not be 0: how far a model is off is a part of it", g.Name)
	}
	if fixed == 5 {
		g.Tolerance = words[4]
		percent, err := number(strings.TrimSuffix(g.Tolerance, "%"))
		if err != nil || !strings.HasSuffix(g.Tolerance, "%") {
			return fmt.Errorf("%s: tolerance %q is not a percentage such as 10%%", g.Name, g.Tolerance)
		}
		if g.within, _ = percent.Float64(); g.within == 0 {
			return fmt.Errorf("%s: a tolerance of %s; say how far the model may be off, such as 10%%", g.Name, g.Tolerance)
		}
		g.within /= 100
	}
	*to = append(*to, g)
	return nil
}

// checkName accepts lower-case letters and digits, in parts joined by "-" or ".".
func checkName(name string) error {
	const joints = "-."
	last := rune('-')
	for _, c := range name {
		joint := strings.ContainsRune(joints, c)
		if joint && strings.ContainsRune(joints, last) || !joint && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return fmt.Errorf("%q is not a name such as link.hop or first-use", name)
		}
		last = c
	}
	if strings.ContainsRune(joints, last) {
		return fmt.Errorf("%q is not a name such as link.hop or first-use", name)
	}
	return nil
}

// check makes sure that fits and predictions are told apart.
func (f *File) check() error {
	for _, all := range [...][]Goal{f.Fits, f.Predictions} {
		for i := range all {
			if first := findGoal(all, all[i].Name); first != &all[i] {
				return fmt.Errorf("machine: %s: %s is already given at %s", all[i].Where, all[i].Name, first.Where)
			}
		}
	}
	for i := range f.Constants {
		c := &f.Constants[i]
		if c.Standing == Fitted && f.Fit(c.Fit) == nil {
			return fmt.Errorf("machine: %s: %s is fitted to %s, which no fit line gives", c.Where, c.Name, c.Fit)
		}
	}
	for i := range f.Predictions {
		p := &f.Predictions[i]
		if fit := f.Fit(p.Name); fit != nil {
			return fmt.Errorf("machine: %s: %s cannot be predicted: constants are fitted to it (%s)", p.Where, p.Name, fit.Where)
		}
	}
	return nil
}
