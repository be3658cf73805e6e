package vtime

import (
	"bytes"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// watchdog notices in host time that a body or an event blocks its goroutine, and
// with it the whole kernel, in something that is not the kernel's. It asks now
// and then, and the kernel answers at its next turn. Host time has no influence
// on a run in which nobody blocks.
type watchdog struct {
	limit   time.Duration // 0: no watchdog
	state   atomic.Uint32
	verdict *BlockedError // set before abandoned
}

// States of the watchdog's question.
const (
	quiet     = iota // the kernel has made a turn since the question
	asked            // not yet
	abandoned        // Run has returned without it
)

// Watchdog has Run return a *BlockedError when a body or an event blocks its goroutine
// in a channel, a mutex, a sleep or the like, instead of waiting through the kernel. It does
// so after limit, and before much more than twice limit. A body that computes,
// or is in a system call, is not disturbed, however long. Watchdog is called before
// Run; 0 means no watchdog.
//
// The procs are left behind then, as nobody can end a goroutine from outside,
// nor run the others' deferred calls beside it. Should the blocked goroutine come back
// one day, its next wait ends it and unwinds the others.
func (k *Kernel) Watchdog(limit time.Duration) { k.watch.limit = limit }

// BlockedError says that a proc, or an event, has blocked its goroutine.
type BlockedError struct {
	Proc  string        // the proc's name; empty for an event
	State string        // of the goroutine, in the Go runtime's words: "chan receive"
	Place string        // where in the program: "file.go:12", or empty
	After time.Duration // how long it has been so, at least
	Stack []byte        // of the goroutine
	Cause error         // why the run was over before, if a deferred call blocks
}

// Error names the proc, what it does and where.
func (e *BlockedError) Error() string {
	who := "an event"
	if e.Proc != "" {
		who = e.Proc
	}
	text := fmt.Sprintf("vtime: %s blocks its goroutine (%s) at %s for more than %v; under a model all ranks share one goroutine's time: wait for others through the job alone, and let time pass by Job.Compute", who, e.State, e.Place, e.After)
	if e.Cause != nil {
		text += fmt.Sprintf("; it does so in a deferred call, after the run had ended: %v", e.Cause)
	}
	return text + "\n\n" + string(e.Stack)
}

// Unwrap returns why the run was over before, if it was.
func (e *BlockedError) Unwrap() error { return e.Cause }

// guard waits for the end of the run. It returns an error if somebody blocks.
func (k *Kernel) guard(ended <-chan struct{}) error {
	w := &k.watch
	if w.limit <= 0 {
		<-ended
		return nil
	}
	look := time.NewTicker(w.limit/2 + 1) // asked after one, looked at after two and three
	defer look.Stop()
	var seen []byte // the stack of who was blocked at the last look
	for {
		select {
		case <-ended:
			return nil
		case <-look.C:
		}
		if w.state.CompareAndSwap(quiet, asked) {
			seen = nil
			continue
		}
		// No turn since the last look.
		b := k.blocked()
		if b == nil {
			seen = nil
			continue
		}
		if !bytes.Equal(frames(b.Stack), seen) {
			seen = frames(b.Stack) // it may be on its way
			continue
		}
		k.mu.Lock()
		b.Cause = k.cause
		k.mu.Unlock()
		w.verdict = b
		if w.state.CompareAndSwap(asked, abandoned) {
			return b
		}
	}
}

// answer says that the kernel makes a turn. If Run has returned meanwhile, it
// ends the run.
func (k *Kernel) answer() {
	if !k.watch.state.CompareAndSwap(asked, quiet) {
		k.end(k.watch.verdict)
	}
}

// header is the first line of a goroutine in a dump: its number and its state,
// which may have more behind a comma.
var header = regexp.MustCompile(`^goroutine (\d+) (?:[a-z]+=\S+ )*\[([^],]*)`)

// blocked looks for the goroutine that has the turn, and reports it if it is
// blocked.
func (k *Kernel) blocked() *BlockedError {
	names := map[uint64]string{k.main.id.Load(): ""}
	for _, p := range k.procs {
		if id := p.id.Load(); id != 0 {
			names[id] = p.name
		}
	}
	for _, text := range bytes.Split(dump(), []byte("\n\n")) {
		m := header.FindSubmatch(text)
		if m == nil {
			continue
		}
		id, _ := strconv.ParseUint(string(m[1]), 10, 64)
		name, ours := names[id]
		if state := string(m[2]); ours && isBlocked(state) {
			if bytes.Contains(text, []byte("vtime.(*Kernel).due(")) {
				name = "" // on the proc's stack, but an event
			}
			return &BlockedError{Proc: name, State: state, Place: place(string(text)), After: k.watch.limit, Stack: text}
		}
	}
	return nil
}

// isBlocked reports whether a goroutine in this state waits for another, for a
// time or for a descriptor. "coroutine" is a proc without the turn; a system
// call may do work, such as reading a file.
func isBlocked(state string) bool {
	state = strings.TrimSuffix(state, " (scan)")
	switch state {
	case "running", "runnable", "syscall", "coroutine", "copystack", "preempted", "idle", "dead", "waiting", "debug call", "force gc (idle)":
		return false
	}
	return !strings.HasPrefix(state, "GC ") && !strings.HasPrefix(state, "garbage collection")
}

// dump returns the stacks of all goroutines, as much as fits into 256 MiB.
func dump() []byte {
	for size := 1 << 20; ; size *= 4 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size || size >= 256<<20 {
			return buf[:n]
		}
	}
}

// frames returns a goroutine's stack without the line that tells how long it has
// been in its state.
func frames(stack []byte) []byte {
	_, rest, _ := bytes.Cut(stack, []byte("\n"))
	return rest
}

// libraries are packages in which programs block; the place is whoever called them.
var libraries = []string{"runtime", "sync", "time", "io", "os", "net", "bufio", "fmt", "context", "syscall", "log", "internal/", "golang.org/x/sys/"}

// place returns the first place on the stack that is not in a library.
func place(stack string) string {
	lines := strings.Split(stack, "\n")
	for i := 1; i+1 < len(lines); i += 2 {
		function := lines[i]
		if slices.ContainsFunc(libraries, func(lib string) bool { return inPackage(function, lib) }) {
			continue
		}
		at, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
		return at
	}
	return "an unknown place"
}

// inPackage reports whether function, as in a dump, belongs to the package or to
// one below it.
func inPackage(function, pkg string) bool {
	rest, ok := strings.CutPrefix(function, pkg)
	return ok && (strings.HasSuffix(pkg, "/") || strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "/"))
}

// goroutineID returns the number that dumps give the calling goroutine.
func goroutineID() (id uint64) {
	const before = len("goroutine ")
	var buf [before + 20]byte
	for _, digit := range buf[before:max(before, runtime.Stack(buf[:], false))] {
		if digit < '0' || digit > '9' {
			break
		}
		id = 10*id + uint64(digit-'0')
	}
	return id
}
