package core

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Load is how much a rank has done until it was asked where it is.
type Load struct {
	Time     time.Duration // since it joined the job
	Sent     uint64        // messages
	Received uint64        // messages
	Memory   uint64        // resident bytes of its process; 0 if other ranks live there too, or that is not known
	Watched  bool          // what follows was counted, see Config.Stats
	Bytes    uint64        // of payloads received, and of one-sided operations begun
	Waiting  time.Duration // in waits
}

// load tells how much the rank has done. Any goroutine may call it.
func (j *Job) load() *Load {
	l := &Load{Time: time.Since(j.start)}
	ep := j.ep.Load()
	if ep == nil {
		return l
	}
	if !ep.shared {
		l.Memory = residentMemory()
	}
	j.releasing.Lock()
	defer j.releasing.Unlock()
	if j.freed {
		return l // the conduit, which may count too, is gone
	}
	for _, r := range ep.group {
		n := ep.Counts(r)
		l.Sent, l.Received = l.Sent+n.Requests+n.Replies, l.Received+n.Received
	}
	if w := ep.watch; w != nil && j.cfg.Stats {
		f := w.figures()
		l.Watched, l.Bytes = true, f.Received().Bytes+f.OneSided().Bytes
		l.Waiting = (f.Waiting() + w.waitsNow()).Duration()
	}
	return l
}

// waitsNow returns how long the waits that have begun and are not in the figures yet have gone on.
func (w *watch) waitsNow() (sum Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.contexts {
		if since := atomic.LoadInt64(&c.watched.idleSince); since != 0 {
			sum += vtime.FromDuration(time.Since(w.ep.job.start) - time.Duration(since))
		}
	}
	return sum
}

// residentMemory returns the bytes of memory that the process has at the moment, 0 if that is not known.
func residentMemory() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(fields[1], 10, 64)
	return pages * uint64(os.Getpagesize())
}
