package buffer_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/internal/buffer"
)

// TestPool takes and gives back buffers of random sizes: no two that are out at once share a byte, and each keeps what was written.
func TestPool(t *testing.T) {
	t.Parallel()
	type held struct{ buffer, want []byte }
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var p buffer.Pool
		var out []held
		used, again := map[*byte]bool{}, 0
		check := func(h held) {
			if !bytes.Equal(h.buffer, h.want) {
				t.Fatalf("seed %d: a buffer of %d B has been written to by another's owner", seed, len(h.buffer))
			}
		}
		for i := range 5000 {
			if rng.IntN(2) == 0 && len(out) > 0 {
				k := rng.IntN(len(out))
				h := out[k]
				check(h)
				p.Give(h.buffer[:rng.IntN(len(h.buffer)+1)])
				out[k] = out[len(out)-1]
				out = out[:len(out)-1]
				continue
			}
			n := rng.IntN(300)
			switch rng.IntN(20) {
			case 0:
				n = rng.IntN(200_000)
			case 1:
				n = 0
			}
			b := p.Take(n)
			if len(b) != n {
				t.Fatalf("seed %d: %d B, want %d", seed, len(b), n)
			}
			whole := b[:cap(b)] // all of it is the owner's
			if used[&whole[0]] {
				again++
			}
			used[&whole[0]] = true
			for j := range whole {
				whole[j] = byte(i + j)
			}
			out = append(out, held{b, bytes.Clone(b)})
		}
		for _, h := range out {
			check(h)
		}
		if again < 1000 {
			t.Errorf("seed %d: buffers have been used again %d times", seed, again)
		}
	}
}

// TestPoolAllocations wants nothing to be allocated for a buffer that has been given back.
func TestPoolAllocations(t *testing.T) {
	var p buffer.Pool
	sizes := []int{1, 64, 65, 4096, 70_000, 200_000}
	var out [6][]byte
	if n := testing.AllocsPerRun(100, func() {
		for i, n := range sizes {
			out[i] = p.Take(n)
		}
		for _, b := range out {
			p.Give(b)
		}
	}); n > 0 {
		t.Errorf("%v allocations for buffers that are used again", n)
	}
}

// TestForeign gives a pool what none hands out.
func TestForeign(t *testing.T) {
	t.Parallel()
	for _, b := range [][]byte{nil, make([]byte, 10, 100)} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, "which no pool hands out") {
					t.Errorf("a buffer with a capacity of %d: panic %q", cap(b), text)
				}
			}()
			new(buffer.Pool).Give(b)
		}()
	}
}
