//go:build !full

package component_test

// compositions are sets of protocols, with Traced besides, such that of any two protocols there is a set with both, with either, and
// with neither, as far as Adaptive can be without Rendezvous. make test-full has all 96: each takes the compiler half a second.
var compositions = []composition{
	of[[128]byte](), of[[255]byte](), of[[135]byte](), of[[216]byte](),
	of[[225]byte](), of[[138]byte](), of[[148]byte](), of[[224]byte](),
}
