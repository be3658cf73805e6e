package machine

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Decode fills the struct that into points to. A field with the tag `machine:"link.hop"`
// gets the constant of that name; a struct with a tag holds the names that begin with the tag
// and a dot. The fields of an embedded struct without a tag count as the outer's own; any other
// field without a tag is left alone. Types of fields are vtime.Time, Bytes, Rate, Period, Chance,
// int, bool (the words yes and no) and string (a word), and a constant's unit must be one of its
// field's type. Every constant must have a field and every field a constant; all that is wrong is
// reported at once.
func (f *File) Decode(into any) error {
	d := decoder{file: f, used: map[string]bool{}}
	d.fields("", reflect.ValueOf(into).Elem())
	d.reportMissing()
	for i := range f.Constants {
		if c := &f.Constants[i]; !d.used[c.Name] {
			d.fail("%s: %s: no such constant in this kind of machine%s", c.Where, c.Name, d.alike(c.Name))
		}
	}
	return errors.Join(d.errs...)
}

type decoder struct {
	file    *File
	names   []string // of the constants that there must be
	missing []string
	used    map[string]bool
	errs    []error
}

// reportMissing names what is missing; only some of it if it is much, as in a file that was
// meant to have a base.
func (d *decoder) reportMissing() {
	const most = 4
	switch n := len(d.missing); {
	case n > most:
		d.fail("%s: %s and %d more constants are missing; a line 'base <machine>' at the beginning takes them from another machine",
			d.file.Name, strings.Join(d.missing[:most], ", "), n-most)
	default:
		for _, name := range d.missing {
			d.fail("%s: %s is missing", d.file.Name, name)
		}
	}
}

// alike lists the constants whose names begin as that of an unknown one does.
func (d *decoder) alike(unknown string) string {
	group, _, _ := strings.Cut(unknown, ".")
	var names []string
	for _, name := range d.names {
		if strings.HasPrefix(name, group+".") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; there are " + strings.Join(names, ", ")
}

func (d *decoder) fail(format string, args ...any) {
	d.errs = append(d.errs, fmt.Errorf("machine: "+format, args...))
}

func (d *decoder) fields(prefix string, v reflect.Value) {
	for i := range v.NumField() {
		in := v.Type().Field(i)
		tag, ok := in.Tag.Lookup("machine")
		if !ok {
			if in.Anonymous && in.Type.Kind() == reflect.Struct {
				d.fields(prefix, v.Field(i))
			}
			continue
		}
		if field := v.Field(i); field.Kind() == reflect.Struct {
			d.fields(prefix+tag+".", field)
		} else {
			d.field(prefix+tag, field)
		}
	}
}

func (d *decoder) field(name string, v reflect.Value) {
	d.names = append(d.names, name)
	c := d.file.Constant(name)
	if c == nil {
		d.missing = append(d.missing, name)
		return
	}
	d.used[name] = true
	if v.Kind() == reflect.Bool && c.unit.kind == wordKind {
		d.truth(c, v)
		return
	}
	if v.Type() != c.unit.kind {
		kind, known := kindNames[v.Type()]
		if !known {
			kind = "a word (yes or no)"
		}
		d.fail("%s: %s is in %s, but must be %s", c.Where, name, c.Unit, kind)
		return
	}
	if v.Kind() == reflect.String {
		v.SetString(c.Value)
	} else {
		v.SetInt(c.quantity)
	}
}

func (d *decoder) truth(c *Constant, v reflect.Value) {
	switch c.Value {
	case "yes":
		v.SetBool(true)
	case "no":
		v.SetBool(false)
	default:
		d.fail("%s: %s is %q, but must be yes or no", c.Where, c.Name, c.Value)
	}
}
