package extended

import "unsafe"

// TypeOf returns the Type of T.
func TypeOf[T Number]() Type {
	var zero T
	one := zero + 1
	t := Int32
	switch {
	case one/2 != 0:
		t = Float32
		if unsafe.Sizeof(zero) == 8 {
			t = Float64
		}
		return t
	case zero-1 > 0:
		t = Uint32
	}
	if unsafe.Sizeof(zero) == 8 {
		t <<= 2
	}
	return t
}
