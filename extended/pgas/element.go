package pgas

import (
	"fmt"
	"reflect"
	"sync"
)

// checked holds what checkElement found, by type: nil or an error.
var checked sync.Map // reflect.Type → error

// checkElement returns why T cannot be an element type, nil if it can. The answer is kept, so
// that a type is taken apart once.
func checkElement[T any]() error {
	t := reflect.TypeFor[T]()
	v, ok := checked.Load(t)
	if !ok {
		v, _ = checked.LoadOrStore(t, describe(t))
	}
	err, _ := v.(error)
	return err
}

// describe returns why t cannot be an element type.
func describe(t reflect.Type) error {
	if t.Size() == 0 {
		return fmt.Errorf("%v cannot be an element type: it has no bytes", t)
	}
	part, bad := offending(t)
	if bad == nil {
		return nil
	}
	if part != "" {
		part = " because of " + part
	}
	return fmt.Errorf("%v cannot be an element type%s: %v means nothing in another process; use numbers, arrays and structs of fixed size, or pgas.Ptr", t, part, bad)
}

// offending returns the first part of t that may not be in a segment, as a path such as
// ".Next" or ".Names[]", and its type; nil if there is none.
func offending(t reflect.Type) (part string, bad reflect.Type) {
	switch t.Kind() {
	case reflect.Array:
		if t.Len() > 0 {
			part, bad = offending(t.Elem())
		}
		return "[]" + part, bad
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if part, bad = offending(f.Type); bad != nil {
				return "." + f.Name + part, bad
			}
		}
	case reflect.Pointer, reflect.UnsafePointer, reflect.Slice, reflect.String, reflect.Map,
		reflect.Chan, reflect.Func, reflect.Interface, reflect.Uintptr:
		return "", t
	}
	return "", nil
}
