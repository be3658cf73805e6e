// Package machine reads machine files: small readable descriptions of the hardware that a
// model stands for. A file gives one constant per line, with its unit, its standing (published,
// fitted or assumed) and its source, so that nobody has to guess how much a number is worth:
//
//	about a testbed of 2003
//	base d339-2003                 # what is not said here is as there
//	fit  raw-pio-80  3.16 us       Su et al.: half of a ping-pong
//	link.hop         70 ns         assumed              bypass of an adapter
//	memory.visible   266 ns        fitted(raw-pio-80)   the rest of the measured time
//	predict check-80 1.5 us 34%    Dolphin: a check takes 1 to 2 us
//
// A machine that consists of others has a line "part <prefix> <machine>" for each, and nothing else but an about line.
//
// What a model's constants were fitted to and what it predicts must not overlap; the reader
// refuses files in which they do. [Library.Load] finds and reads a file with what it is based
// on, and [File.Decode] fills the struct of the model that the machine is for. Which constants
// there are is the model's business, not this package's: docs/machines.md describes the format
// for users.
package machine
