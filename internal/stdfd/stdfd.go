// Package stdfd keeps a program from losing its output in silence when it was started with
// standard output or standard error closed, as by ">&-" in a shell. The Go runtime opens
// /dev/null for writing in their places, before any Go code runs, and every write succeeds.
// With this package, which is imported for its effect alone, /dev/null is there for reading:
// input ends at once and writes fail with EBADF, as they would on what is closed, also in
// programs that inherit the descriptors. That takes cgo; without it the package does nothing.
//
// It is for main packages: what a process's descriptors are is no library's business.
package stdfd
