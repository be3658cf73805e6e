package pmi

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"

	"github.com/aqueduct-go/aqueduct/internal/abstract"
	"github.com/aqueduct-go/aqueduct/internal/plural"
	"golang.org/x/sys/unix"
)

// presence shows the other ranks of a host that a rank has come to join its job, and tells which of them have. No launcher tells that: for
// it a process that ends before it has said anything is a program without a use for PMI, so it ends nobody for that.
//
// It is a socket with a name in the abstract namespace, which tells the job and the rank. Nobody reads it. The kernel lists all names to
// everybody, and forgets one when its process has ended.
type presence struct {
	prefix string // of the names of the job's sockets
	fd     int    // of this rank's; noFD: it has none
	seen   []bool // by rank, at any time
}

// noFD is no descriptor.
const noFD = -1

// show begins to show that a rank of a job of that name and size is there. Where it cannot, nobody sees it.
func show(job string, rank, size int) *presence {
	p := &presence{prefix: fmt.Sprintf("aqueduct-pmi-%.16x-", sha256.Sum256([]byte(job))), fd: noFD, seen: make([]bool, size)}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		if err = unix.Bind(fd, &unix.SockaddrUnix{Name: "@" + p.prefix + strconv.Itoa(rank)}); err == nil {
			p.fd = fd
		} else {
			unix.Close(fd)
		}
	}
	return p
}

// hide ends that.
func (p *presence) hide() {
	if p.fd != noFD {
		unix.Close(p.fd)
	}
}

// look takes note of who is there.
func (p *presence) look() error {
	if p.fd == noFD {
		return errors.New("sockets have no names here")
	}
	names, err := abstract.Names(p.prefix)
	for _, name := range names {
		if r, err := strconv.Atoi(name[len(p.prefix):]); err == nil && r >= 0 && r < len(p.seen) {
			p.seen[r] = true
		}
	}
	return err
}

// absent looks, and tells who has not come. Of ranks of other hosts it knows nothing.
func (p *presence) absent() string {
	if err := p.look(); err != nil {
		return fmt.Sprintf("which ranks have not come is not known: %v", err)
	}
	var absent []int
	for r, seen := range p.seen {
		if !seen {
			absent = append(absent, r)
		}
	}
	if absent == nil {
		return "all have come, of which one may be gone"
	}
	return fmt.Sprintf("on this host nothing is seen of %s", plural.List(absent, "rank", "ranks"))
}
