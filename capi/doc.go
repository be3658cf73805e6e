// Package main is the C library: GASNet's interface in C, over packages core and extended. It is built as one
// object from Go (go build -buildmode=c-archive) under three thin shells in C, one for each thread mode;
// scripts/capi.sh builds them, and docs/c.md says how programs use them.
//
// A C function of the library, in the .c files here, finds what belongs to its thread and crosses into Go once, by a
// function that is exported under a name with the prefix aq. Handlers cross back, to run on the C thread that
// polls. The public headers are in include. A file in C and one in Go have the same name if they are two sides of
// one concept. Files whose names begin with ex_ are for GASNet-EX's interface, where it differs from that of GASNet-1.
package main

//go:generate go run ./gen

func main() {}
