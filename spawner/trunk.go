package spawner

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// maxTrunkFrame bounds the body of a frame of a trunk: the frame of a rank, and its head.
const maxTrunkFrame = maxFrame + 64

// pulse is how often each end of a trunk is heard at least.
var pulse = DefaultSilence / beats

// beats is how many may be missed before the other end counts as lost. A network that loses one direction lets the first through that
// its sender does not know to be lost; so the more there are in the same time, the sooner a loss is noticed.
const beats = 12

// pauseTime is how long the other end may have stopped: longer than people leave a job alone that they mean to go on
// with.
const pauseTime = 24 * time.Hour

// trunk is one end of the connection between an agent and the Job or the agent that has started it: a stream of frames, each a word and
// what belongs to it. Whatever is sent is queued. What others decide the size of is bounded: output has credit (see
// outflow), and who passes on what ranks say waits for room.
type trunk struct {
	rw        io.ReadWriteCloser
	in        []byte // received and not yet returned
	buf       []byte // what in is a part of
	pulse     time.Duration
	pauseTime time.Duration // how long the other end may have stopped

	mu      sync.Mutex
	changed *sync.Cond // queue, writing, closed
	queue   [][]byte
	queued  int  // bytes in queue
	writing bool // some of what was queued is not written
	held    bool // what is queued is not written, see pause
	mute    bool // nothing can be written any more, nor is it queued
	closed  bool // nothing is queued any more
	started bool

	sent, heard atomic.Bool // since the last beat
	reading     atomic.Bool // this end waits for the other
	paused      atomic.Bool // the other end has said that it stops
	lost        atomic.Bool // the other end was silent too long, or has stopped for too long
	noise       []byte      // the end of what await has skipped
	group       sync.WaitGroup
	quit        chan struct{} // closed when the trunk is
}

func newTrunk(rw io.ReadWriteCloser) *trunk {
	t := &trunk{rw: rw, buf: make([]byte, 4096), pulse: pulse, pauseTime: pauseTime, quit: make(chan struct{})}
	t.changed = sync.NewCond(&t.mu)
	return t
}

// start begins to send what is queued, and beats. From then on the trunk is closed if the other end is silent.
func (t *trunk) start() {
	t.mu.Lock()
	t.started = true
	t.mu.Unlock()
	t.group.Go(t.write)
	t.group.Go(t.beat)
}

// send queues a frame of a word; body appends what belongs to it, unless it is nil. It does not block.
func (t *trunk) send(w word, body func([]byte) []byte) {
	t.sendFrame(encode(w, body))
}

// sendFrame queues a frame, or parts of one that belong together.
func (t *trunk) sendFrame(parts ...[]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed && !t.mute {
		t.queue = append(t.queue, parts...)
		for _, part := range parts {
			t.queued += len(part)
		}
		t.changed.Broadcast()
	}
}

// sendShared queues a frame of a word, a head and data, which is not copied and must not change.
func (t *trunk) sendShared(w word, head, data []byte) {
	b := wire.AppendUint32(nil, uint32(1+len(head)+len(data)))
	t.sendFrame(append(append(b, byte(w)), head...), data)
}

// encode returns the frame of a word.
func encode(w word, body func([]byte) []byte) []byte {
	b, at := wire.BeginFrame(nil)
	b = append(b, byte(w))
	if body != nil {
		b = body(b)
	}
	return wire.EndFrame(b, at)
}

// write writes what is queued until the trunk is closed and all is written. That nothing can be written does not end the trunk: the other end may have
// said why it has closed the stream, which this end is still to read. Behind that it finds the end.
func (t *trunk) write() {
	for {
		t.mu.Lock()
		t.writing = false
		t.changed.Broadcast()
		for (len(t.queue) == 0 || t.held) && !t.closed {
			t.changed.Wait()
		}
		if len(t.queue) == 0 {
			t.mu.Unlock()
			t.rw.Close()
			return
		}
		var out []byte
		if out = t.queue[0]; len(t.queue) > 1 && len(out) < 4096 {
			out = nil
			for len(t.queue) > 0 && len(out)+len(t.queue[0]) <= 64<<10 {
				out, t.queue = append(out, t.queue[0]...), t.queue[1:]
			}
		} else {
			t.queue = t.queue[1:]
		}
		t.queued -= len(out)
		t.writing = true
		t.mu.Unlock()
		t.sent.Store(true)
		if _, err := t.rw.Write(out); err != nil {
			t.mu.Lock()
			t.mute, t.queue, t.queued = true, nil, 0
			t.mu.Unlock()
		}
	}
}

// isMute reports whether nothing can be written any more.
func (t *trunk) isMute() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mute
}

// flush returns when all that was queued is written, or cannot be, or the trunk is closed.
func (t *trunk) flush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.awaitWritten()
}

// awaitWritten is flush of who holds mu.
func (t *trunk) awaitWritten() {
	for (len(t.queue) > 0 || t.writing) && !t.closed {
		t.changed.Wait()
	}
}

// awaitRoom returns when less is queued than a window, or the trunk is closed. Who reads what ranks say, to pass it on, calls it before the
// next: so a rank that says more than goes through the trunk is held up, and this process does not grow. It is not for the loop.
func (t *trunk) awaitRoom() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.queued >= window && !t.closed {
		t.changed.Wait()
	}
}

// pause has the other end not take silence for the end of this one. It returns when that is written, after all
// that was queued. Nothing else is written before resume.
func (t *trunk) pause() {
	t.mu.Lock()
	t.awaitWritten()
	t.held = true
	t.mu.Unlock()
	t.rw.Write(encode(wordPause, nil)) // an error shows when something is written again
}

// resume ends a pause.
func (t *trunk) resume() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held = false
	t.changed.Broadcast()
}

// beat says something now and then and closes the trunk when the other end does not. It counts its own
// beats, and not the time, so that a process that was stopped itself does not take the other for lost; and only those
// in which this end waits for the other, so that one that is busy does not either.
func (t *trunk) beat() {
	tick := time.NewTicker(t.pulse)
	defer tick.Stop()
	missed, unread, stopped := 0, 0, time.Duration(0)
	for {
		select {
		case <-t.quit:
			return
		case <-tick.C:
		}
		if !t.sent.Swap(false) {
			t.send(wordBeat, nil)
		}
		if stopped += t.pulse; !t.paused.Load() {
			stopped = 0
		}
		if missed++; t.heard.Swap(false) || stopped > 0 || !t.reading.Load() {
			missed = 0
		}
		if missed >= beats || stopped > t.pauseTime {
			t.lost.Store(true)
			t.cut()
		}
		if t.isMute() {
			if unread++; unread >= beats { // nobody reads it
				t.cut()
			}
		}
	}
}

// close sends what is queued and then closes the trunk. It does not wait for that.
func (t *trunk) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.closed = true
		close(t.quit)
		t.changed.Broadcast()
	}
	if !t.started {
		t.rw.Close()
	}
}

// cut closes the trunk at once.
func (t *trunk) cut() {
	t.mu.Lock()
	t.queue, t.queued = nil, 0
	t.mu.Unlock()
	t.close()
	t.rw.Close()
}

// receive returns the word of the next frame and what belongs to it, which is valid until the next call.
func (t *trunk) receive() (word, *wire.Reader, error) {
	for {
		body, rest, err := wire.NextFrame(t.in, maxTrunkFrame)
		switch {
		case err == nil:
			t.in = rest
			r := wire.NewReader(body)
			return word(r.Uint8()), r, nil
		case !errors.Is(err, wire.ErrShort):
			return 0, nil, fmt.Errorf("what came is no frame, but %.40q: %w", t.in, err)
		}
		if err := t.fill(); err != nil {
			return 0, nil, err
		}
	}
}

// fill reads once, behind what is there.
func (t *trunk) fill() error {
	n := copy(t.buf, t.in)
	if n == len(t.buf) {
		t.buf = append(t.buf, make([]byte, len(t.buf))...)
	}
	t.reading.Store(true)
	got, err := t.rw.Read(t.buf[n:])
	t.reading.Store(false)
	t.in = t.buf[:n+max(got, 0)]
	if got > 0 {
		t.heard.Store(true)
		t.paused.Store(false)
		return nil
	}
	if t.lost.Load() && t.paused.Load() {
		return fmt.Errorf("it has stopped for more than %v", t.pauseTime)
	}
	if t.lost.Load() {
		return fmt.Errorf("it has not been heard for %v", (beats * t.pulse).Round(time.Millisecond))
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// maxNoise is how much of what others say, such as banners and login scripts, may come before the greeting.
const maxNoise = 64 << 10

// skipped returns the last line of what came in place of the text that await did not find; "": nothing.
func (t *trunk) skipped() string {
	all := bytes.TrimSpace(slices.Concat(t.noise, t.in))
	return string(all[bytes.LastIndexByte(all, '\n')+1:])
}

// await skips what comes before the text, and the text.
func (t *trunk) await(text string) error {
	for skipped := 0; ; {
		if at := bytes.Index(t.in, []byte(text)); at >= 0 {
			t.in, t.noise = t.in[at+len(text):], nil
			return nil
		}
		if drop := len(t.in) - len(text); drop > 0 { // its beginning may be there
			t.noise = append(t.noise, t.in[:drop]...)
			t.noise = t.noise[max(0, len(t.noise)-saidLength):]
			t.in = t.in[drop:]
			skipped += drop
		}
		if skipped > maxNoise {
			return fmt.Errorf("%d bytes came from there, and none of them from an agent", skipped)
		}
		if err := t.fill(); err != nil {
			return err
		}
	}
}
