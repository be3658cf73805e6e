package main

// The random numbers of RandomAccess are the powers of x in the field of polynomials over
// two elements modulo x⁶⁴ + x² + x + 1, as words (HPC Challenge, RandomAccess rules).
const modulus = 1<<2 | 1<<1 | 1

// next returns the number after a: a·x.
func next(a uint64) uint64 {
	return a<<1 ^ uint64(int64(a)>>63)&modulus
}

// nth returns number n of the sequence, x to the n, by squaring.
func nth(n uint64) uint64 {
	power, square := uint64(1), uint64(2)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			power = times(power, square)
		}
		square = times(square, square)
	}
	return power
}

// times returns a·b.
func times(a, b uint64) (product uint64) {
	for ; b > 0; b >>= 1 {
		if b&1 != 0 {
			product ^= a
		}
		a = next(a)
	}
	return product
}
