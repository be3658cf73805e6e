package nbrhd

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// Which ranks are near. The launcher says who shares a host. Ranks that it says do must also have the same identity of a
// host (shm.HostIdentity), and must each have opened a probe of each other: memory that is passed as the near conduit passes its own, with
// bytes in it that the owner has told everybody by the bootstrap. A host that fails in that has no near ranks.

// nonceSize is the length of what a probe has in it.
const nonceSize = 16

// confirm returns those of the candidates, which are ranks of the caller's host and itself, that are near: all, or the caller
// alone, and then why. id is the caller's identity of a host. Collective over the job.
func confirm(boot core.Bootstrap, candidates []core.Rank, id string) (near []core.Rank, why string, err error) {
	nonce := make([]byte, nonceSize)
	rand.Read(nonce)
	cards, err := boot.Exchange(append(nonce, id...))
	if err != nil {
		return nil, "", err
	}
	for _, r := range candidates {
		if len(cards[r]) < nonceSize {
			return nil, "", fmt.Errorf("rank %d is in another call", r)
		}
		if theirs := string(cards[r][nonceSize:]); theirs != id && why == "" {
			why = fmt.Sprintf("rank %d has host %q, rank %d %q; if they are one, name it by the setting host-id", boot.Rank(), id, r, theirs)
		}
	}
	failed, err := probe(boot, candidates, cards)
	if err != nil {
		return nil, "", err
	}
	if why == "" {
		why = failed
	}
	verdicts, err := boot.Exchange([]byte(why))
	if err != nil {
		return nil, "", err
	}
	for _, r := range candidates {
		if len(verdicts[r]) > 0 {
			return []core.Rank{boot.Rank()}, string(verdicts[r]), nil
		}
	}
	return candidates, "", nil
}

// probe opens the candidates' probes, and says which is not what its owner has told. Collective over the job.
func probe(boot core.Bootstrap, candidates []core.Rank, cards [][]byte) (why string, err error) {
	if _, process := boot.(core.ProcessSharer); process {
		return "", nil
	}
	sharer, ok := boot.(core.DescriptorSharer)
	if !ok {
		return "the ranks have no way to pass descriptors to each other; start them with aqrun", nil
	}
	mine, err := shm.NewRegion(nonceSize, shm.Shared)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, mine.Close()) }()
	copy(mine.Bytes(), cards[boot.Rank()])
	fds, err := sharer.ShareFD(mine.FD())
	if err != nil {
		return "", err
	}
	for _, r := range candidates {
		if !holds(fds[r], cards[r][:nonceSize]) && why == "" {
			why = fmt.Sprintf("rank %d cannot open memory of rank %d", boot.Rank(), r)
		}
	}
	for _, fd := range fds {
		if fd >= 0 {
			err = errors.Join(err, unix.Close(fd))
		}
	}
	return why, err
}

// holds reports whether the memory of a descriptor begins with want.
func holds(fd int, want []byte) bool {
	if fd < 0 {
		return false
	}
	m, err := shm.MapReadOnly(fd, 0, len(want))
	if err != nil {
		return false
	}
	same := bytes.Equal(m.Bytes(), want)
	return m.Close() == nil && same
}
