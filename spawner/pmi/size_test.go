package pmi

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

// What a large job asks its launcher for grows with its ranks, and with the hosts' pairs: what ranks of other hosts give only the lowest rank
// of a host gets.
func TestManyRanks(t *testing.T) {
	const ranks, hosts = 256, 32
	const most = 6*ranks + 2*hosts*hosts
	f := newFake(t, ranks)
	var gets atomic.Int64
	f.twist = func(_ int, request, reply string) string {
		if strings.Contains(request, "cmd=get ") {
			gets.Add(1)
		}
		return reply
	}
	identities := make([]string, ranks)
	for r := range identities {
		identities[r] = fmt.Sprint("host ", r%hosts)
	}
	given := func(r int) []byte { return bytes.Repeat([]byte{byte(r)}, 100) } // as much as udp says of a rank
	errs := f.job(identities, func(b *bootstrap) error {
		all, err := b.Exchange(given(int(b.Rank())))
		for r := range all {
			if !bytes.Equal(all[r], given(r)) {
				err = errors.Join(err, fmt.Errorf("rank %d has %v of rank %d", b.Rank(), all[r], r))
			}
		}
		return errors.Join(err, b.Barrier(), b.Close())
	})
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if n := gets.Load(); n > most {
		t.Errorf("the launcher is asked for %d values, want %d at most", n, most)
	}
}
