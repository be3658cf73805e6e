package spawner

import (
	"bytes"
	"errors"
	"io"
	"net"
	"reflect"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/stacks"
	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// inMemory returns both ends of a trunk, which are closed with the test.
func inMemory(t testing.TB) (a, b *trunk) {
	x, y := net.Pipe()
	a, b = newTrunk(x), newTrunk(y)
	t.Cleanup(func() {
		for _, end := range []*trunk{a, b} {
			end.cut()
			end.group.Wait()
		}
	})
	return a, b
}

func TestTrunkKeepsOrder(t *testing.T) {
	a, b := inMemory(t)
	a.start()
	const frames = 1000
	for i := range frames {
		a.sendRank(wordSend, i, func(f []byte) []byte { return append(f, make([]byte, i*7%5000)...) })
	}
	for i := range frames {
		w, r, err := b.receive()
		for ; err == nil && w == wordBeat; w, r, err = b.receive() {
		}
		if err != nil || w != wordSend {
			t.Fatalf("frame %d: %v, %v", i, w, err)
		}
		if rank := r.Uint32(); rank != uint32(i) || len(r.Rest()) != i*7%5000 {
			t.Fatalf("frame %d is of rank %d", i, rank)
		}
	}
}

// Closing sends what is queued first.
func TestTrunkSendsBeforeItCloses(t *testing.T) {
	a, b := inMemory(t)
	a.sendNotice(wordRefused, 0, "last")
	a.start()
	a.close()
	a.sendNotice(wordRefused, 0, "too late")
	if w, r, err := b.receive(); w != wordRefused || err != nil || string(r.Rest()) != "\x00\x00\x00\x00last" {
		t.Errorf("%v %v", w, err)
	}
	if _, _, err := b.receive(); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
}

// gone is a stream whose other end has said something, and closed it: nothing can be written any more.
type gone struct{ io.Reader }

func (gone) Write([]byte) (int, error) { return 0, syscall.EPIPE }
func (gone) Close() error              { return nil }

// What the other end has said before it was gone is heard, also by who finds first that nothing can be written.
func TestLastWordIsHeard(t *testing.T) {
	a := newTrunk(gone{bytes.NewReader(encode(wordRefusal, nil))})
	a.start()
	a.send(wordBeat, nil)
	a.flush()
	select {
	case <-a.quit:
		t.Error("the trunk is closed before all is read")
	default:
	}
	if w, _, err := a.receive(); w != wordRefusal || err != nil {
		t.Errorf("receive: %v, %v", w, err)
	}
	if _, _, err := a.receive(); err != io.EOF {
		t.Errorf("after the last word: %v", err)
	}
	a.cut()
	a.group.Wait()
}

func TestNoiseIsSkipped(t *testing.T) {
	for _, noise := range []string{"", "\nAQUEDUCT", "\nAQUEDUCT agent 1\n", strings.Repeat("\nAQUEDUCT agent ", 3000)} {
		a, b := inMemory(t)
		go func() { a.rw.Write(append([]byte(noise+agentGreeting), encode(wordBeat, nil)...)) }()
		if err := b.await(agentGreeting); err != nil {
			t.Errorf("after %d bytes: %v", len(noise), err)
			continue
		}
		if w, _, err := b.receive(); w != wordBeat || err != nil {
			t.Errorf("after the greeting: %v, %v", w, err)
		}
	}
}

func TestTooLongFrameIsRefused(t *testing.T) {
	a, b := inMemory(t)
	go func() { a.rw.Write(wire.AppendUint32(nil, maxTrunkFrame+1)) }()
	if _, _, err := b.receive(); !errors.Is(err, wire.ErrTooLong) || !strings.Contains(err.Error(), `no frame, but "`) {
		t.Errorf("receive: %v", err)
	}
}

func TestCredit(t *testing.T) {
	c := newCredit()
	if !c.take(window) {
		t.Fatal("there is no credit")
	}
	if c.give(window+1) || c.give(-1) {
		t.Error("more is given back than was taken")
	}
	took := done(func() { c.take(10) })
	select {
	case <-took:
		t.Error("more is taken than there is")
	default:
	}
	if !c.give(10) {
		t.Error("what was taken cannot be given back")
	}
	<-took
	c.close()
	if c.take(window) {
		t.Error("there is credit after the end")
	}
}

// An agent ends if its Job says nothing, as when the network was lost while it started. Once the Job has begun, that is
// the trunk's business.
func TestAgentHearsNothing(t *testing.T) {
	const patience = 500 * time.Millisecond
	for _, begins := range []bool{false, true} {
		here, there := net.Pipe()
		ended := done(func() { newAgent(here).serve(patience) })
		job := newTrunk(there)
		if err := job.await(agentGreeting); err != nil {
			t.Fatal(err)
		}
		if begins {
			job.sendJSON(wordBegin, branch{Pulse: patience, Width: 1})
			job.pulse = patience
			job.start()
		}
		frames := 0 // a report and some beats
		for ; frames < 4; frames++ {
			if _, _, err := job.receive(); err != nil {
				break
			}
		}
		if begins != (frames == 4) {
			t.Errorf("the Job begins: %v; the agent says %d things", begins, frames)
		}
		job.cut()
		job.group.Wait()
		<-ended
	}
}

// A pause lasts until something else comes.
func TestPauseEnds(t *testing.T) {
	a, b := inMemory(t)
	b.paused.Store(true)
	go func() { a.rw.Write(encode(wordBeat, nil)) }()
	if w, _, err := b.receive(); w != wordBeat || err != nil || b.paused.Load() {
		t.Errorf("%v, %v; paused: %v", w, err, b.paused.Load())
	}
}

// No pause lasts for ever.
func TestPauseHasALimit(t *testing.T) {
	a, b := inMemory(t)
	b.pulse, b.pauseTime = 10*time.Millisecond, 100*time.Millisecond
	b.start()
	go func() { a.rw.Write(encode(wordPause, nil)) }()
	if w, _, err := b.receive(); w != wordPause || err != nil {
		t.Fatal(w, err)
	}
	b.paused.Store(true)
	go io.Copy(io.Discard, a.rw)
	if _, _, err := b.receive(); err == nil || err.Error() != "it has stopped for more than 100ms" {
		t.Errorf("after the limit: %v", err)
	}
}

// An end that is too busy to read does not take the other for lost.
func TestBusyEndLosesNobody(t *testing.T) {
	a, b := inMemory(t)
	a.pulse, b.pulse = 20*time.Millisecond, 20*time.Millisecond
	a.start()
	b.start()
	go func() {
		for {
			if _, _, err := a.receive(); err != nil {
				return
			}
		}
	}()
	if _, _, err := b.receive(); err != nil {
		t.Fatal(err)
	}
	select { // nobody receives
	case <-b.quit:
		t.Errorf("the trunk is cut; lost: %v", b.lost.Load())
	case <-time.After(3 * beats * b.pulse):
	}
	if w, _, err := b.receive(); w != wordBeat || err != nil {
		t.Errorf("then %v, %v", w, err)
	}
}

// What cannot be is refused, and costs no memory: the output of a rank ends once, pieces are not empty, a process ends
// once.
func TestAgentRepeatsItself(t *testing.T) {
	end, _ := inMemory(t)
	h := &remote{loop: newLoop(), trunk: end, tell: told{t}, of: new(children), input: newCredit()}
	h.crew = &crew{of: map[int]*standing{1: {streams: [channels]*stream{{rank: 1}, {rank: 1}}}}}
	h.assigned.Store(true)
	for c := range channels {
		h.flows[c] = newInflow()
	}
	about1 := func(more ...byte) *wire.Reader { return wire.NewReader(append([]byte{1, 0, 0, 0}, more...)) }
	for _, c := range []struct {
		w    word
		more []byte
		ok   bool
	}{
		{wordOutput, []byte{channelOut}, false},
		{wordOutput, []byte{channelOut, 'x'}, true},
		{wordOutputEnd, []byte{channelOut}, true},
		{wordOutputEnd, []byte{channelOut}, false},
		{wordOutput, []byte{channelOut, 'x'}, false},
		{wordOutput, []byte{channelErr, 'x'}, true},
		{wordDisconnected, []byte{0}, false},
		{wordJoined, nil, true},
		{wordJoined, nil, false},
		{wordDisconnected, []byte{0}, true},
		{wordDisconnected, []byte{0}, false},
		{wordExited, make([]byte, 4), true},
		{wordExited, make([]byte, 4), false},
	} {
		if _, err := h.event(c.w, about1(c.more...)); (err == nil) != c.ok {
			t.Errorf("%v %v: %v", c.w, c.more, err)
		}
	}
	if n := len(h.flows[channelOut].queue); n != 2 {
		t.Errorf("%d pieces are queued", n)
	}
}

// Output waits for credit; what is sent besides does not wait for the output.
func TestOutputHasCredit(t *testing.T) {
	a, b := inMemory(t)
	a.start()
	o := &outflow{trunk: a, credit: newCredit()}
	const piece, pieces = window / 16, 17
	written := done(func() {
		for range pieces {
			o.write(&stream{rank: 3}, make([]byte, piece))
		}
	})
	next := func() (w word, n int) {
		w, r, err := b.receive()
		for ; err == nil && w == wordBeat; w, r, err = b.receive() {
		}
		if err != nil {
			t.Fatal(err)
		}
		return w, r.Len()
	}
	for range pieces - 1 {
		if w, n := next(); w != wordOutput || n != 5+piece {
			t.Fatalf("%v of %d bytes", w, n)
		}
	}
	select {
	case <-written:
		t.Error("there is no limit")
	default:
	}
	o.credit.mu.Lock()
	if o.credit.left != 0 {
		t.Errorf("%d bytes of credit are left", o.credit.left)
	}
	o.credit.mu.Unlock()
	a.sendNotice(wordRefused, 0, "")
	if w, _ := next(); w != wordRefused {
		t.Errorf("%v without credit", w)
	}
	o.credit.give(piece)
	if w, _ := next(); w != wordOutput {
		t.Errorf("%v with credit", w)
	}
	<-written
}

// A rank that says more than goes through its agent's trunk is held up, and the agent does not grow.
func TestRankThatFloodsItsAgent(t *testing.T) {
	end, other := inMemory(t)
	a := newAgent(end.rw)
	a.trunk = end
	a.task, a.below = &task{N: 1, Placement: placement{0}}, &children{via: make(map[int]*remote), room: end.awaitRoom}
	here := newLocal(a.loop, &Spec{N: 1}, "test", []int{0}, a)
	here.room = end.awaitRoom
	a.employ(here, []int{0})
	ours, theirs := pair(t)
	here.conns[0] = &conn{link: newLink(ours), out: make(chan packet, 8)}
	a.joined(0)
	end.start()
	ran := done(func() {
		for a.linked > 0 {
			(<-a.events)()
		}
	})
	read := done(func() { here.read(0, here.conns[0]) })
	record := appendFrame(nil, kindRecord, func(b []byte) []byte { return append(b, make([]byte, window/4)...) })
	const records = 64
	said := done(func() {
		for range records {
			theirs.Write(record)
		}
		theirs.Close()
	})
	for !bytes.Contains(stacks.All(), []byte("awaitRoom(")) {
		select {
		case <-said:
			t.Fatal("all was taken in, though nobody reads it")
		default:
			runtime.Gosched()
		}
	}
	end.mu.Lock()
	if most := window + 2*len(record); end.queued > most {
		t.Errorf("%d bytes are queued, want %d at most", end.queued, most)
	}
	end.mu.Unlock()
	for n := 0; n < records; {
		w, r, err := other.receive()
		if err != nil {
			t.Fatal(err)
		}
		if w == wordMessage && r.Len() > window/4 {
			n++
		}
	}
	<-said
	<-read
	other.cut() // what is told of its end nobody reads
	<-ran
}

// What a rank says after it has left is a breach, and not held back with what is as it should be.
func TestRankThatSpeaksAfterItHasLeft(t *testing.T) {
	end, other := inMemory(t)
	a := newAgent(end.rw)
	a.trunk = end
	a.tidings.of([]int{0})
	end.start()
	leave := message{kind: kindLeave, body: []byte{byte(kindLeave)}}
	a.message(0, leave)
	a.message(0, leave)
	for _, want := range []word{wordMessage, wordBreach} {
		w, _, err := other.receiveNews()
		if w != want || err != nil {
			t.Errorf("%v, %v, want %v", w, err, want)
		}
	}
	if len(a.held) > 0 {
		t.Errorf("%d bytes are held back", len(a.held))
	}
}

// A broadcast in pieces reaches ranks as one, since no more than a few may be on their way to a rank.
func TestBroadcastInPieces(t *testing.T) {
	end, other := inMemory(t)
	end.start()
	frames := bytes.Repeat([]byte("0123456789abcdef"), 7*broadcastPiece/32)
	(&remote{trunk: end}).broadcast(frames)
	c := &conn{out: make(chan packet, 8)}
	a := newAgent(nil)
	a.task, a.below, a.host = new(task), new(children), &local{conns: []*conn{c}}
	for range 4 {
		w, r, err := other.receive()
		for ; err == nil && w == wordBeat; w, r, err = other.receive() {
		}
		do, err2 := a.command(w, r)
		if err != nil || err2 != nil || w != wordBroadcast {
			t.Fatal(w, err, err2)
		}
		do()
	}
	if len(c.out) != 1 {
		t.Fatalf("a rank gets %d parts", len(c.out))
	}
	if p := <-c.out; !bytes.Equal(p.frames, frames) {
		t.Errorf("a rank gets %d bytes of %d", len(p.frames), len(frames))
	}
}

func TestPlacement(t *testing.T) {
	for _, p := range []placement{{0}, {0, 0, 1, 1, 2}, {0, 1, 2, 0, 1, 2}, together(70000)} {
		got, err := readPlacement(wire.NewReader(p.appendTo(nil)), len(p))
		if err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("%v became %v, %v", p, got, err)
		}
	}
	if got := (placement{0, 1, 0, 1, 1}).on(1); !reflect.DeepEqual(got, []int{1, 3, 4}) {
		t.Errorf("ranks of host 1: %v", got)
	}
	for _, p := range []placement{{1}, {0, 2}, {0, -1}} {
		if _, err := p.check(); err == nil {
			t.Errorf("%v is accepted", p)
		}
	}
}

func FuzzPlacement(f *testing.F) {
	f.Add(placement{0, 1, 1, 0}.appendTo(nil), 4)
	f.Add([]byte{0, 0, 0, 0, 255, 255, 255, 255}, 4)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		if n < 0 || n > MaxRanks {
			return
		}
		p, err := readPlacement(wire.NewReader(b), n)
		if err != nil {
			return
		}
		if again, err := readPlacement(wire.NewReader(p.appendTo(nil)), n); len(p) != n || err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("%v became %v, %v", p, again, err)
		}
	})
}

// fuzzed are frames to begin with: what each end says.
func fuzzed(f *testing.F) {
	for w := range word(128) {
		f.Add(uint8(w), []byte{})
		f.Add(uint8(w), []byte{1, 0, 0, 0, 1, 0, 0, 0, 9})
		f.Add(uint8(w), []byte{1, 0, 0, 0, 0})
		f.Add(uint8(w), []byte{1, 0})
	}
	f.Add(uint8(wordTask), marshal(&task{N: 2, Placement: placement{0, 0}, Programs: []programTask{{N: 2, Prog: []byte("true")}}}))
}

// Whatever a Job says, an agent that has its task neither panics nor takes more than there is credit for.
func FuzzCommand(f *testing.F) {
	fuzzed(f)
	f.Fuzz(func(t *testing.T, w uint8, b []byte) {
		end, _ := inMemory(t)
		a := newAgent(end.rw)
		a.task, a.branch.Host, a.below = &task{N: 2, Placement: placement{0, 0}}, 0, &children{via: make(map[int]*remote)}
		a.employ(newLocal(newLoop(), &Spec{N: 2}, "test", []int{0, 1}, nil), []int{0, 1})
		if do, err := a.command(word(w), wire.NewReader(bytes.Clone(b))); do != nil && err == nil && word(w) != wordLaunch && word(w) != wordDeal {
			do()
		}
		for _, flow := range a.flows {
			if flow.credit.left != window {
				t.Errorf("credit of %d", flow.credit.left)
			}
		}
	})
}

// An agent that is gone as soon as it has answered is missed, though nobody has taken note of its answer yet; and who asks it for more hears that it is
// gone.
func TestAgentThatAnswersAndIsGoneIsMissed(t *testing.T) {
	end, far := inMemory(t)
	lost := make(chan string, 1)
	h := &remote{loop: newLoop(), branch: branch{start: start{Host: 1}}, trunk: end, tell: notices{told{t}, lost}, input: newCredit()}
	h.of = &children{via: map[int]*remote{1: h}, hired: make(chan struct{})}
	for c := range channels {
		h.flows[c] = newInflow()
	}
	stop := make(chan struct{})
	ran := done(func() {
		for {
			select {
			case f := <-h.loop.events:
				f()
			case <-stop:
				return
			}
		}
	})
	far.sendJSON(wordReport, report{{Host: 1}})
	far.start()
	far.close()
	r, err := h.ask(t.Context(), h.listen)
	close(stop)
	<-ran
	if err != nil || r.failed() || len(r) != 1 {
		t.Errorf("the answer: %v, %v", r, err)
	}
	select {
	case why := <-lost:
		if !strings.Contains(why, "its agent is gone") {
			t.Errorf("it is lost: %s", why)
		}
	default:
		t.Error("nobody is told that the agent is gone")
	}
	if _, err := h.ask(t.Context(), func() {}); err == nil {
		t.Error("who is gone has answered")
	}
}

// notices takes note of what is lost.
type notices struct {
	jobEvents
	lost chan string
}

func (n notices) notice(w word, host int, text string) {
	if w == wordLost {
		n.lost <- text
	}
}

// Whatever an agent tells, the Job's end of its trunk neither panics nor believes in ranks of other hosts.
func FuzzEvent(f *testing.F) {
	fuzzed(f)
	f.Fuzz(func(t *testing.T, w uint8, b []byte) {
		end, _ := inMemory(t)
		h := &remote{loop: newLoop(), trunk: end, tell: told{t}, input: newCredit()}
		h.of = &children{via: map[int]*remote{1: h}}
		h.crew = &crew{of: map[int]*standing{1: {streams: [channels]*stream{{rank: 1}, {rank: 1}}}}, all: []contribution{{rank: 1}}}
		h.assigned.Store(true)
		for c := range channels {
			h.flows[c] = newInflow()
		}
		if event, err := h.event(word(w), wire.NewReader(bytes.Clone(b))); event != nil && err == nil {
			event()
		}
	})
}

// told checks what a Job is told of a host with rank 1 alone.
type told struct{ t *testing.T }

func (x told) rank(r int) {
	if r != 1 {
		x.t.Errorf("told of rank %d", r)
	}
}

func (x told) began(rank, _ int)                     { x.rank(rank) }
func (x told) joined(rank int)                       { x.rank(rank) }
func (x told) message(rank int, _ message)           { x.rank(rank) }
func (x told) breach(rank int, _ string)             { x.rank(rank) }
func (x told) disconnected(rank int, _ error)        { x.rank(rank) }
func (x told) exited(rank int, _ syscall.WaitStatus) { x.rank(rank) }
func (x told) refused(string)                        {}
func (x told) failed(error)                          {}
func (x told) told(*remote, uint32)                  {}
func (x told) notice(_ word, host int, _ string)     { x.rank(host) }
func (x told) arrived(_ kind, calls []contribution) {
	for _, c := range calls {
		x.rank(c.rank)
	}
}
