package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
)

// input is what is sorted: the lines of files, or so many random ones.
type input struct {
	files []string
	lines int
	seed  uint64
}

// read returns the text of part i of n: whole lines, each with its newline.
func (in input) read(i, n int) ([]byte, error) {
	if len(in.files) == 0 {
		return random(in.lines*i/n, in.lines*(i+1)/n, in.seed), nil
	}
	var text []byte
	for _, f := range in.files {
		whole, err := os.ReadFile(f)
		if err != nil {
			return nil, fmt.Errorf("samplesort: %w", err)
		}
		text = append(text, part(whole, len(whole)*i/n, len(whole)*(i+1)/n)...)
	}
	return text, nil
}

// part returns the lines of text that begin at from or later and before to. The last line
// of the text gets its newline if it has none.
func part(text []byte, from, to int) []byte {
	begin, end := lineAt(text, from), lineAt(text, to)
	p := text[begin:end:end]
	if len(p) > 0 && p[len(p)-1] != '\n' {
		p = append(p, '\n')
	}
	return p
}

// lineAt returns where the first line begins at off or later.
func lineAt(text []byte, off int) int {
	if off == 0 {
		return 0
	}
	if k := bytes.IndexByte(text[off-1:], '\n'); k >= 0 {
		return off + k
	}
	return len(text)
}

// random makes the lines numbered from from to to; each depends on its number alone. Many
// are equal.
func random(from, to int, seed uint64) []byte {
	syllables := []string{"a", "da", "mo", "ri", "ke", "su", "lan", "tor", "wi", "ve"}
	var text []byte
	for i := from; i < to; i++ {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		for range 1 + r.IntN(5) {
			text = append(text, syllables[r.IntN(len(syllables))]...)
		}
		text = append(text, '\n')
	}
	return text
}

// lines divides a text into its lines, without their newlines.
func lines(text []byte) [][]byte {
	var ls [][]byte
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		ls, text = append(ls, line), rest
	}
	return ls
}
