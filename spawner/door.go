package spawner

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/mtls"
	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// callProtocol names what agents that call and those whom they call say to each other, and its version.
const callProtocol = "aqueduct-agent/2"

// door is where agents come in that one command has started on all hosts: each connects by itself. All go to the Job's first. That knows
// the hosts, and sends those that are to be below an agent to the door of that one.
type door struct {
	key      mtls.Key
	job      string // whose agents are let in
	listener net.Listener
	refused  func(why string)            // hears of whom was turned away; any goroutine calls it
	came     func(host int, from string) // hears of an agent that has been shown to its place, with its address; likewise
	hosts    []string                    // all of the job; nil: this door is an agent's, and who comes has been told its number

	closing atomic.Bool // nobody is let in any more

	mu     sync.Mutex
	opened *mtls.Listener
	closed bool
	seats  map[int]*seat  // by host: of the agents whose place is here
	above  map[int]int    // by host: the one whose agent starts it; none for those whose place is here
	known  map[int]string // by host: at which address its door is
	turned map[int][]move // by host: those that are to go to its door, when that is known
	group  sync.WaitGroup
}

// call is what an agent says first at a door.
type call struct {
	Job  string
	Name string // that its host gives itself
	Host int    // its number, if it has been told so; -1: it has not
	Port int    // of its own door
}

// move is an agent that is to go to another door, and say there that it is a host's.
type move struct {
	host int
	conn net.Conn
}

// newDoor returns the door of a Job, hosts nil: of an agent. It is not open yet.
func newDoor(key mtls.Key, job string, hosts []string, refused func(why string)) (*door, error) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		return nil, err
	}
	return &door{
		key: key, job: job, listener: l, refused: refused, came: func(int, string) {}, hosts: hosts, seats: make(map[int]*seat),
		above: make(map[int]int), known: make(map[int]string), turned: make(map[int][]move),
	}, nil
}

// port returns that at which it is.
func (d *door) port() int { return d.listener.Addr().(*net.TCPAddr).Port }

// link returns the stream to the agent of a branch, which waits until that has come. It is called before open.
func (d *door) link(b branch) (io.ReadWriteCloser, error) {
	s := &seat{taken: make(chan struct{}), left: make(chan struct{})}
	d.seats[b.Host] = s
	d.place(&b)
	return s, nil
}

// place notes who starts those below b.
func (d *door) place(b *branch) {
	for _, one := range b.split() {
		d.above[one.Host] = b.Host
		d.place(&one)
	}
}

// open lets agents in. Those that have come before wait until then.
func (d *door) open() error {
	if d == nil {
		return nil
	}
	l, err := d.key.Listen(callProtocol, d.listener, func(err error) {
		if !d.closing.Load() { // else it is an agent's attempt at another address, or its host is missed
			d.refused(err.Error())
		}
	})
	if err != nil {
		return err
	}
	d.opened = l
	d.group.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // it is closed, or those that do not come are missed
			}
			d.group.Go(func() {
				if err := d.receive(c); err != nil {
					d.refused(err.Error())
				}
			})
		}
	})
	return nil
}

// close lets nobody in any more, and turns away who waits.
func (d *door) close() {
	if d == nil {
		return
	}
	d.closing.Store(true)
	d.listener.Close()
	if d.opened != nil {
		d.opened.Close()
	}
	d.group.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, waiting := range d.turned {
		for _, m := range waiting {
			m.conn.Close()
		}
	}
	d.turned = nil
}

// receive shows somebody who has the key to its place. The error says who was turned away, and why.
func (d *door) receive(c net.Conn) error {
	c.SetDeadline(time.Now().Add(mtls.HandshakeTime))
	from, _, _ := net.SplitHostPort(c.RemoteAddr().String())
	w, r, err := readFrame(c)
	said := call{}
	if err == nil {
		if err = json.Unmarshal(r.Rest(), &said); w != wordCall || err != nil {
			err = fmt.Errorf("it did not say who it is: %v, %v", w, err)
		}
	}
	if err != nil {
		c.Close()
		if hungUp(err) {
			return nil // it has the key, and was let in at another address
		}
		return fmt.Errorf("%s: %w", from, err)
	}
	who := fmt.Sprintf("an agent at %s, on a host that is named %.100q", from, said.Name)
	refuse := func(format string, args ...any) error {
		why := fmt.Sprintf(format, args...)
		c.Write(encode(wordRefusal, func(b []byte) []byte { return wire.AppendText(wire.AppendUint32(b, uint32(statusSelf)), why) }))
		c.Close()
		return fmt.Errorf("%s: %s", who, why)
	}
	if said.Job != d.job {
		return refuse("it is of another job")
	}
	host := said.Host
	if d.hosts != nil {
		if host = d.find(said.Name, from); host < 0 {
			return refuse("neither its name nor its address is that of a host of the job")
		}
	}
	c.SetDeadline(time.Time{})
	d.mu.Lock()
	defer d.mu.Unlock()
	above, deeper := d.above[host]
	s := d.seats[host]
	switch {
	case d.closed:
		c.Close()
		return nil
	case d.known[host] != "":
		return refuse("there is an agent of host %s already; start one on each host", d.name(host))
	case s == nil && !deeper:
		return refuse("host %d is none of those below", host)
	case s != nil:
		c.Write(encode(wordCome, nil))
		s.take(c)
	default:
		d.turned[above] = append(d.turned[above], move{host, c})
	}
	d.known[host] = net.JoinHostPort(from, strconv.Itoa(said.Port))
	d.came(host, from)
	d.send(host)
	if deeper {
		d.send(above)
	}
	return nil
}

// send has those go to the door of a host that are to be below it, if that is known.
func (d *door) send(above int) {
	to := d.known[above]
	if to == "" {
		return
	}
	for _, m := range d.turned[above] {
		m.conn.Write(encode(wordMove, about(m.host, func(b []byte) []byte { return append(b, to...) })))
		m.conn.Close()
	}
	delete(d.turned, above)
}

// name returns what to call a host.
func (d *door) name(host int) string {
	if d.hosts == nil {
		return strconv.Itoa(host)
	}
	return d.hosts[host]
}

// find returns the number of the host that gives itself a name and has an address, by the first rule that fits for one host alone; -1:
// there is none. The name counts as it is; then without its domain; then this host's, as localhost; then the address.
func (d *door) find(name, from string) int {
	own, _ := os.Hostname() // "" is nobody's
	ctx, cancel := context.WithTimeout(context.Background(), mtls.HandshakeTime)
	defer cancel()
	for _, fits := range []func(host string) bool{
		func(host string) bool { return host == name },
		func(host string) bool { return net.ParseIP(host) == nil && firstLabel(host) == firstLabel(name) },
		func(host string) bool { return firstLabel(name) == firstLabel(own) && IsHere(host) },
		func(host string) bool {
			all, err := net.DefaultResolver.LookupHost(ctx, host) // an address stands for itself
			return err == nil && slices.Contains(all, from)
		},
	} {
		if i := slices.IndexFunc(d.hosts, fits); i >= 0 && !slices.ContainsFunc(d.hosts[i+1:], fits) {
			return i
		}
	}
	return -1
}

// firstLabel returns a name without its domain.
func firstLabel(name string) string {
	first, _, _ := strings.Cut(name, ".")
	return first
}

// seat is the stream to an agent that may not have come yet: who reads or writes waits for it.
type seat struct {
	taken chan struct{} // closed when conn is set
	left  chan struct{} // closed by Close

	mu   sync.Mutex
	gone bool
	conn net.Conn
}

// take makes the stream that of the agent that has come, or closes it if nobody waits for the agent any more.
func (s *seat) take(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		c.Close()
		return
	}
	s.conn = c
	close(s.taken)
}

// await returns the stream of the agent that has come.
func (s *seat) await() (net.Conn, error) {
	select {
	case <-s.taken:
		return s.conn, nil
	case <-s.left:
		return nil, net.ErrClosed
	}
}

// Read implements io.Reader.
func (s *seat) Read(b []byte) (int, error) {
	c, err := s.await()
	if err != nil {
		return 0, err
	}
	return c.Read(b)
}

// Write implements io.Writer.
func (s *seat) Write(b []byte) (int, error) {
	c, err := s.await()
	if err != nil {
		return 0, err
	}
	return c.Write(b)
}

// Close implements io.Closer.
func (s *seat) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return nil
	}
	s.gone = true
	close(s.left)
	if s.conn == nil {
		return nil
	}
	return s.conn.Close()
}

// readFrame reads a frame, and nothing behind it.
func readFrame(from io.Reader) (w word, r *wire.Reader, err error) {
	const longest = 4096
	head := make([]byte, wire.FrameHeader)
	if _, err := io.ReadFull(from, head); err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint32(head)
	if n == 0 || n > longest {
		return 0, nil, fmt.Errorf("a frame of %d bytes, where 1 to %d can be", n, longest)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(from, body); err != nil {
		return 0, nil, err
	}
	r = wire.NewReader(body)
	return word(r.Uint8()), r, nil
}
