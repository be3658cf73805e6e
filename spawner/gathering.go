package spawner

import (
	"crypto/hmac"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// gathering is a socket at which ranks of a host meet one of them, where no launcher of this package has started them. It
// lies in a fresh directory of mode 0700, and ranks prove to each other that they know its secret.
type gathering struct {
	point  *rendezvousPoint
	secret []byte
}

// gather opens a gathering, which its owner closes.
func gather() (*gathering, error) {
	point, err := listen()
	if err != nil {
		return nil, err
	}
	return &gathering{point, fresh(secretSize)}, nil
}

// address is what others need to come, and nobody else is to know.
func (g *gathering) address() []byte {
	return append(g.secret[:secretSize:secretSize], g.point.path...)
}

// admit waits for the next rank of a job of so many that proves itself, until the deadline. Strangers it sends away, one at
// a time: each has a second.
func (g *gathering) admit(size int, deadline time.Time) (rank int, l *link, err error) {
	g.point.listener.SetDeadline(deadline)
	for {
		c, err := g.point.listener.AcceptUnix()
		if err != nil {
			return 0, nil, err
		}
		c.SetDeadline(time.Now().Add(time.Second))
		if rank, err := g.examine(c, size); err == nil {
			c.SetDeadline(time.Time{})
			return rank, newLink(c), nil
		}
		c.Close()
	}
}

// examine returns the rank that has proved itself on c.
func (g *gathering) examine(c *net.UnixConn, size int) (rank int, err error) {
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

// close ends the gathering and removes its directory. Connections stay.
func (g *gathering) close() { g.point.remove() }

// come joins the gathering at an address as a rank. It blocks for 30 s at most.
func come(address []byte, rank int) (*link, error) {
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
	return newLink(c), nil
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
