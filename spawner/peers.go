package spawner

import (
	"crypto/hmac"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// Gathering is a socket at which ranks of a host meet one of them, where no launcher of this package has started them. It
// lies in a fresh directory of mode 0700, and ranks prove to each other that they know its secret.
type Gathering struct {
	point  *rendezvousPoint
	secret []byte
}

// Gather opens a Gathering, which its owner closes.
func Gather() (*Gathering, error) {
	point, err := listen()
	if err != nil {
		return nil, err
	}
	return &Gathering{point, fresh(secretSize)}, nil
}

// Address is what others need to come, and nobody else is to know.
func (g *Gathering) Address() []byte {
	return append(g.secret[:secretSize:secretSize], g.point.path...)
}

// Admit waits for the next rank of a job of so many that proves itself, until the deadline. Strangers it sends away, one at
// a time: each has a second.
func (g *Gathering) Admit(size int, deadline time.Time) (rank int, p *Peer, err error) {
	g.point.listener.SetDeadline(deadline)
	for {
		c, err := g.point.listener.AcceptUnix()
		if err != nil {
			return 0, nil, err
		}
		c.SetDeadline(time.Now().Add(time.Second))
		if rank, err := g.examine(c, size); err == nil {
			c.SetDeadline(time.Time{})
			return rank, &Peer{newLink(c)}, nil
		}
		c.Close()
	}
}

// examine returns the rank that has proved itself on c.
func (g *Gathering) examine(c *net.UnixConn, size int) (rank int, err error) {
	cred, err := peerOf(c)
	if err != nil {
		return 0, err
	}
	if int(cred.Uid) != os.Geteuid() {
		return 0, fmt.Errorf("it runs under user id %d, this rank under %d", cred.Uid, os.Geteuid())
	}
	rank, _, welcome, err := challenge(c, g.secret, size)
	if err != nil {
		return 0, err
	}
	_, err = c.Write(welcome)
	return rank, err
}

// Close ends the Gathering and removes its directory. Peers stay.
func (g *Gathering) Close() { g.point.remove() }

// Come joins the Gathering at an address as a rank. It blocks for 30 s at most.
func Come(address []byte, rank int) (*Peer, error) {
	if len(address) <= secretSize {
		return nil, fmt.Errorf("an address of %d bytes is none", len(address))
	}
	secret, path := address[:secretSize], string(address[secretSize:])
	c, err := dial(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c.SetDeadline(time.Now().Add(joinTime))
	if err := introduceTo(c, secret, rank); err != nil {
		c.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c.SetDeadline(time.Time{})
	return &Peer{newLink(c)}, nil
}

// introduceTo has the rank prove itself on c, and wants the other end to.
func introduceTo(c *net.UnixConn, secret []byte, rank int) error {
	expect, err := respond(c, secret, purposeRank, rank)
	if err != nil {
		return err
	}
	welcome := make([]byte, proofSize)
	if _, err := io.ReadFull(c, welcome); err != nil {
		return err
	}
	if !hmac.Equal(welcome, expect) {
		return fmt.Errorf("the other end does not know the secret")
	}
	return nil
}

// Peer is a connection of two ranks of a host, for messages and descriptors. One goroutine may send while another receives.
type Peer struct{ link *link }

// MaxFDs is how many descriptors go with a message at most.
const MaxFDs = maxFDs

// Send sends a message of at most 64 KiB and descriptors with it, at most MaxFDs, which stay the caller's.
func (p *Peer) Send(body []byte, fds ...int) error {
	b, at := wire.BeginFrame(nil)
	return p.link.send(wire.EndFrame(append(b, body...), at), fds...)
}

// Receive returns the next message, valid until the next call.
func (p *Peer) Receive() ([]byte, error) { return p.link.receive() }

// Claim returns the n descriptors that have come with the message received last, which become the caller's.
func (p *Peer) Claim(n int) ([]int, error) { return p.link.claim(n) }

// Close ends the connection. Who receives then sees an error, and calls Drop.
func (p *Peer) Close() { p.link.close() }

// Drop closes descriptors that have come and nobody has claimed.
func (p *Peer) Drop() { p.link.drop() }
