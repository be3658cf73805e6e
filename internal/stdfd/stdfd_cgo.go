package stdfd

// What is in C, in fill.c, runs before the Go runtime.

import "C"
