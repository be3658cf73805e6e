package engine_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/extended/engine"
)

// Traces lie in testdata. A line that begins in the first column is a command; those below it, which are
// indented, are what the engines did because of it. A command is one of
//
//	team N [debug] [shared BYTES] [reach]   makes a team, and a barrier; with hosts M it is on M hosts, to which
//	       [hosts M]                        members go in turn
//	force CHOICE                            has an algorithm used
//	part BYTES                              sets the largest part, before team
//	begin MEMBER OP BYTES [ROOT]            has a member begin a collective call
//	room MEMBER N                           lets it send N messages, and then no more
//	advance MEMBER                          has it go on
//	deliver FROM TO                         delivers the oldest message under way between two
//	swap FROM TO                            has the two oldest change places
//	corrupt FROM TO FIELD VALUE             changes the oldest
//	repeat FROM TO                          sends the oldest once more
//	credit FROM TO WINDOW BYTES             delivers credit that was never used
//	notify MEMBER ID|anonymous|mismatch     has it begin a barrier
//	finish MEMBER ID|anonymous|mismatch     has it end the barrier
//	run                                     delivers and advances until nothing is left to do
var update = flag.Bool("update", false, "write what the engines do to the traces")

// script is a trace that is run.
type script struct {
	out     strings.Builder
	part    int
	forced  coll.Forced
	members []*member
	wires   map[[2]int][]message
}

// member is an engine, its barrier and what they act on.
type member struct {
	engine.Engine
	engine.Barrier
	s       *script
	self    int
	room    int // messages that may be sent; -1: any number
	engaged bool
	shared  []byte
	calls   int

	elsewhere [][]uint64 // the memory of a barrier that was relocated
}

// message is one under way: of a call, credit, or of a barrier.
type message struct {
	part   *engine.Part
	credit [2]uint32 // window and bytes
	notice *engine.Notice
}

func (m message) String() string {
	switch {
	case m.part != nil:
		p := m.part
		text := fmt.Sprintf("call %d message %d bytes %d to %d of %d, window %d", p.Call, p.Number, p.Off, int(p.Off)+len(p.Data), p.Total, p.Window)
		if p.Shared > 0 {
			text += fmt.Sprintf(", shared at %d", p.Shared)
		}
		return text
	case m.notice != nil:
		return fmt.Sprintf("barrier %d message %d, %s", m.notice.Epoch, m.notice.Number, nameText(m.notice.Name))
	}
	return fmt.Sprintf("credit of %d, window %d", m.credit[1], m.credit[0])
}

func (s *script) say(format string, args ...any) { fmt.Fprintf(&s.out, "\t"+format+"\n", args...) }

func (s *script) put(from, to int, m message) {
	s.wires[[2]int{from, to}] = append(s.wires[[2]int{from, to}], m)
	s.say("%d > %d: %v", from, to, m)
}

// take takes a room for a message, if there is one.
func (m *member) take() bool {
	if m.room == 0 {
		m.s.say("%d has no room", m.self)
		m.engaged = true
		return false
	}
	m.room--
	return true
}

func (m *member) Send(to int, p *engine.Part) bool {
	if !m.take() {
		return false
	}
	q := *p
	q.Data = append([]byte(nil), p.Data...)
	m.s.put(m.self, to, message{part: &q})
	return true
}

func (m *member) ReturnCredit(to int, window, bytes uint32) {
	m.s.put(m.self, to, message{credit: [2]uint32{window, bytes}})
}
func (m *member) Engage()                  { m.engaged = true }
func (m *member) Fail(from int, err error) { m.s.say("%d fails, by %d: %v", m.self, from, err) }
func (m *member) Shared(i int) []byte      { return m.s.members[i].shared }

func (m *member) notices() {
	m.Barrier.Advance(func(to int, n engine.Notice) bool {
		if !m.take() {
			return false
		}
		m.s.put(m.self, to, message{notice: &n})
		return true
	})
}

func (m *member) advance() {
	m.engaged = false
	m.notices()
	m.Engine.Advance()
	if m.Notified() && m.Done() {
		m.s.say("%d: barrier %d is done", m.self, m.Epoch())
	}
}

// ending is an engine.Op that says what has come.
type ending struct {
	m    *member
	call int
	dst  []byte
}

func (e *ending) Over() {
	text := ""
	if len(e.dst) > 0 && len(e.dst) <= 16 {
		text = fmt.Sprintf(": %v", e.dst)
	}
	e.m.s.say("%d: call %d is over%s", e.m.self, e.call, text)
}

type title string

func (t title) String() string { return string(t) }

// team makes the members.
func (s *script) team(n int, more []string) {
	debug, reach, shared := false, false, 0
	var hosts *coll.Hosts
	for i, w := range more {
		switch w {
		case "debug":
			debug = true
		case "reach":
			reach = true
		case "shared":
			shared, _ = strconv.Atoi(more[i+1])
		case "hosts":
			count, _ := strconv.Atoi(more[i+1])
			hosts = coll.NewHosts(n, func(m int) int { return m % count })
		}
	}
	s.wires, s.members = make(map[[2]int][]message), nil
	for i := range n {
		m := &member{s: s, self: i, room: -1, shared: make([]byte, shared+128)}
		m.Engine.Init(engine.Config{
			Members: n, Self: i, Hosts: hosts, Part: s.part, Debug: debug, Team: title("the team"),
			Describe: func(x engine.Signature) string { return fmt.Sprintf("%v of %d bytes", coll.Op(x[0]), x[2]) },
		}, m)
		m.Barrier.Init(n, i, reach, hosts)
		if i%2 == 1 { // as where code in another language goes on with it
			m.Relocate(func(bytes uintptr) unsafe.Pointer {
				m.elsewhere = append(m.elsewhere, make([]uint64, bytes/8+1))
				return unsafe.Pointer(&m.elsewhere[len(m.elsewhere)-1][0])
			})
		}
		if shared > 0 {
			m.Share(128, shared)
		}
		s.members = append(s.members, m)
	}
}

// begin begins a call of elements of a byte. The source of member i is i+1, i+2 and so on.
func (s *script) begin(m *member, op coll.Op, bytes, root int) error {
	n := len(s.members)
	k := coll.Call{Op: op, Root: root, Bytes: bytes, Elem: 1, Commutes: true}
	p, err := m.Plan(k, s.forced)
	if err != nil {
		return err
	}
	in, out := bytes, bytes
	switch op {
	case coll.Scatter:
		in = n * bytes
	case coll.Gather, coll.AllGather:
		out = n * bytes
	case coll.AllToAll:
		in, out = n*bytes, n*bytes
	}
	src, dst := make([]byte, in), make([]byte, out)
	for i := range src {
		src[i] = byte(m.self + 1 + i)
	}
	sum := func(dst, src []byte) {
		for i := range dst {
			dst[i] += src[i]
		}
	}
	m.Engine.Begin(p, &ending{m, m.calls, dst}, dst, src, sum, engine.Signature{uint32(op), uint32(root), uint32(bytes)})
	m.calls++
	return nil
}

// next takes the oldest message between two.
func (s *script) next(from, to int) (message, bool) {
	w := s.wires[[2]int{from, to}]
	if len(w) == 0 {
		return message{}, false
	}
	s.wires[[2]int{from, to}] = w[1:]
	return w[0], true
}

// deliver delivers it.
func (s *script) deliver(from, to int) bool {
	x, ok := s.next(from, to)
	if !ok {
		return false
	}
	m := s.members[to]
	var err error
	switch {
	case x.part != nil:
		var back uint32
		if back, err = m.Engine.Arrive(x.part); back > 0 {
			m.ReturnCredit(from, x.part.Window, back)
		}
	case x.notice != nil:
		var goOn bool
		if goOn, err = m.Barrier.Arrive(from, *x.notice); goOn {
			m.Engage()
		}
		if m.Done() {
			s.say("%d: barrier %d is done", to, m.Epoch())
		}
	default:
		err = m.Credit(from, x.credit[0], x.credit[1])
	}
	if err != nil {
		s.say("%d refuses what %d sends: %v", to, from, err)
	}
	if m.engaged {
		s.say("%d is to go on", to)
	}
	return true
}

// run delivers and advances until nothing is left.
func (s *script) run() {
	for did := true; did; {
		did = false
		for to, m := range s.members {
			for from := range s.members {
				did = s.deliver(from, to) || did
			}
			if m.engaged && m.room != 0 {
				m.advance()
				did = true
			}
		}
	}
}

// command carries out a line.
func (s *script) command(line string) error {
	w := strings.Fields(line)
	num := func(i int) int {
		if i >= len(w) {
			return 0
		}
		n, err := strconv.Atoi(w[i])
		if err != nil {
			panic(err)
		}
		return n
	}
	switch w[0] {
	case "team":
		s.team(num(1), w[2:])
	case "part":
		s.part = num(1)
	case "force":
		f, err := coll.ParseForced(w[1])
		s.forced = f
		return err
	case "begin":
		op, err := coll.ParseOp(w[2])
		if err != nil {
			return err
		}
		return s.begin(s.members[num(1)], op, num(3), num(4))
	case "room":
		s.members[num(1)].room = num(2)
	case "advance":
		s.members[num(1)].advance()
	case "deliver":
		if !s.deliver(num(1), num(2)) {
			return fmt.Errorf("nothing is under way")
		}
	case "swap":
		x := s.wires[[2]int{num(1), num(2)}]
		x[0], x[1] = x[1], x[0]
	case "corrupt":
		p, v := s.wires[[2]int{num(1), num(2)}][0].part, uint32(num(4))
		switch w[3] {
		case "call":
			p.Call = v
		case "number":
			p.Number = v
		case "offset":
			p.Off = v
		case "window":
			p.Window = v
		case "shared":
			p.Shared = v
		case "total":
			p.Total = v
		}
	case "repeat":
		key := [2]int{num(1), num(2)}
		s.wires[key] = append(s.wires[key], s.wires[key][0])
	case "credit":
		if err := s.members[num(2)].Credit(num(1), uint32(num(3)), uint32(num(4))); err != nil {
			s.say("%s refuses what %s sends: %v", w[2], w[1], err)
		}
	case "notify":
		m := s.members[num(1)]
		m.Barrier.Begin(nameOf(w[2]))
		m.notices()
	case "finish":
		m := s.members[num(1)]
		err := m.Finish(nameOf(w[2]))
		s.say("%s ends with %v; the name is %s", w[1], err, nameText(m.Last()))
	case "run":
		s.run()
	default:
		return fmt.Errorf("no command %s", w[0])
	}
	return nil
}

func nameOf(text string) engine.Name {
	switch text {
	case "anonymous":
		return engine.Name{Flags: engine.Anonymous}
	case "mismatch":
		return engine.Name{Flags: engine.Mismatch}
	}
	id, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return engine.Name{ID: int32(id)}
}

func nameText(n engine.Name) string {
	switch n.Flags {
	case engine.Anonymous:
		return "anonymous"
	case engine.Mismatch:
		return "mismatch"
	}
	return strconv.Itoa(int(n.ID))
}

func TestTraces(t *testing.T) {
	files, err := filepath.Glob("testdata/*.trace")
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".trace"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := &script{part: engine.MaxPart}
			for line := range strings.Lines(string(text)) {
				if strings.HasPrefix(line, "\t") {
					continue
				}
				s.out.WriteString(line)
				if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
					continue
				}
				if err := s.command(line); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
			}
			got := s.out.String()
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(text) {
				t.Errorf("the engines do\n%s", diff(string(text), got))
			}
		})
	}
}

// diff returns the first lines in which two texts differ.
func diff(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	around := func(x []string) string { return strings.Join(x[min(max(0, i-3), len(x)):min(len(x), i+5)], "\n") }
	return fmt.Sprintf("line %d:\n%s\nwant:\n%s", i+1, around(b), around(a))
}
