package floor

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/aqueduct-go/aqueduct/bench"
)

// Kind names what a floor measures.
type Kind string

// The kinds, with the number of CPUs they take and what one operation is.
const (
	// PingPong (two different CPUs): a round trip of a flag between two processes, each
	// of which writes its own line: the flag alone 64, 128 or 4160 bytes from the other,
	// within a slot of 64 or 128 bytes, in rotating slots, or with the writer fetching
	// its line back early.
	PingPong Kind = "pingpong"
	// Handoff (two different CPUs): a round trip when both processes write the same
	// line. It moves once per direction instead of twice (to the reader and back), so on
	// some CPUs this takes half as long as PingPong. It bounds passing a lock, and no
	// pair of channels each written by one side.
	Handoff Kind = "handoff"
	// Echo (two different CPUs; message bytes): a round trip of a message with payload.
	// One process copies it from private memory into the mapping, the other, when all of
	// it is there, from there to its own place in the mapping, where it stays.
	Echo Kind = "echo"
	// Ring (two different CPUs): a message of 32 bytes through a ring of 256 slots, 128
	// or 64 bytes apart, with a cumulative credit returned every quarter of the ring.
	Ring Kind = "ring"
	// Copy (two different CPUs; message bytes): a message copied from private memory
	// into the mapping by one process and out of it by the other, pipelined.
	Copy Kind = "copy"
	// Memcpy (one CPU; message bytes): a message copied from private memory to a fixed
	// place of the mapping that nobody reads.
	Memcpy Kind = "memcpy"
	// Fetch (one CPU; message bytes): a message copied from a fixed place of the mapping,
	// which nobody writes, to private memory.
	Fetch Kind = "fetch"
	// FetchAdd (one CPU): a fetch-and-add on a word of the mapping that nobody else uses,
	// sequentially consistent or relaxed.
	FetchAdd Kind = "fetchadd"
	// Barrier (one CPU per process, repeated at will, at most 256): a dissemination
	// barrier whose waiters poll a little and then call sched_yield.
	Barrier Kind = "barrier"

	// UDPTrip (two different CPUs; message bytes, answer bytes): a round trip by UDP over
	// the loopback interface, each message in as few datagrams of up to 60 KiB as it takes.
	// Receivers spin: they ask a socket that does not block until something is there. The
	// sockets are connected, or the sender gives the address with every datagram.
	UDPTrip Kind = "udp-trip"
	// UDPShared (two different CPUs; message bytes, answer bytes) is UDPTrip with sockets that are
	// connected to nobody, as one for several peers is.
	UDPShared Kind = "udp-shared"
	// UDPSleep (two different CPUs; message bytes, answer bytes) is UDPTrip with receivers that sleep
	// in the kernel.
	UDPSleep Kind = "udp-sleep"
	// UDPStream (two different CPUs; message bytes): a message one way by UDP, in as few
	// datagrams of up to 60 KiB as it takes, pipelined. The receiver spins.
	UDPStream Kind = "udp-stream"
	// UDPSegments (two different CPUs; segment bytes, at most MaxSegment): a datagram one
	// way of those that the kernel cuts out of what one call sends (GSO), 64 or 32, or as
	// many as come to 60 KiB, and hands over together (GRO).
	UDPSegments Kind = "udp-segments"
	// UDPBarrier (one CPU per process, repeated at will, at most 256): a dissemination
	// barrier by UDP whose waiters look at their socket a little and then call sched_yield.
	UDPBarrier Kind = "udp-barrier"
	// TCPTrip (two different CPUs; message bytes, answer bytes): a round trip by one TCP
	// connection over the loopback interface. Both sides spin.
	TCPTrip Kind = "tcp-trip"
	// TCPStream (two different CPUs; message bytes): a message one way by one TCP
	// connection, a call for each, received as much at a time as there is. Both sides spin,
	// or sleep in the kernel.
	TCPStream Kind = "tcp-stream"
)

// MaxSegment is the largest segment, in bytes, of UDPSegments.
const MaxSegment = 60 << 10

// MaxSize is the largest message, in bytes, of the kinds that take a size.
const MaxSize = 4 << 20

// MaxIters is the largest number of operations of one sample.
const MaxIters = 1 << 30

// A Variant is one way of doing a kind's operation, and what an operation took.
type Variant struct {
	Name string
	Ns   float64 // nanoseconds per operation
}

// Result is a sample of a floor.
type Result struct {
	Variant           // the fastest
	All     []Variant // every variant, in a fixed order
}

// A Floor is a running floor program. It is idle except within Sample. One goroutine at
// a time may use it.
type Floor struct {
	name   string
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr bytes.Buffer
	closed error // what ended it
}

var errClosed = errors.New("closed")

// ErrUnsupported says that this kernel cannot do what a kind measures.
var ErrUnsupported = errors.New("floor: not supported by this kernel")

// unsupported is the exit status of a floor that fails with ErrUnsupported (src/main.c).
const unsupported = 3

// Start starts the floor of a kind on the given CPUs, compiling it first if need be, and
// waits until it is ready. Kinds with message, answer or segment bytes take them as
// arguments. It fails with ErrUnsupported where the kernel lacks something. Cancelling ctx kills the floor, also within Sample. The caller must Close it.
func Start(ctx context.Context, kind Kind, cpus []int, args ...int) (*Floor, error) {
	exe, err := Build(ctx)
	if err != nil {
		return nil, err
	}
	argv := []string{string(kind), List(cpus)}
	for _, a := range args {
		argv = append(argv, strconv.Itoa(a))
	}
	return Command(ctx, strings.Join(argv, " "), exe, argv...)
}

// List formats CPUs as the floor programs and other programs like them read them: "0,1,2".
func List(cpus []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(cpus), "[]"), " ", ",")
}

// Command starts any program that answers as the floors do (see src/main.c), such as a
// benchmark of another library, and waits until it is ready. name stands for it in errors.
// Otherwise as Start.
func Command(ctx context.Context, name, exe string, argv ...string) (*Floor, error) {
	f := &Floor{name: name, cmd: exec.CommandContext(ctx, exe, argv...)}
	f.cmd.Stderr = &f.stderr
	var err error
	f.cmd.WaitDelay = time.Second // its children hold the same stderr
	if f.in, err = f.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("floor: %w", err)
	}
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("floor: %w", err)
	}
	f.out = bufio.NewReader(out)
	if err := bench.Start(f.cmd); err != nil {
		return nil, fmt.Errorf("floor: %w", err)
	}
	if line, err := f.out.ReadString('\n'); line != "ready\n" {
		return nil, f.fail(err)
	}
	return f, nil
}

// Sample measures every variant over iters operations, 1 to MaxIters, preceded by a tenth
// as many to warm up. It blocks for about iters × variants × the time of an operation.
func (f *Floor) Sample(iters int) (Result, error) {
	if f.closed != nil {
		return Result{}, fmt.Errorf("floor: %s: %w", f.name, f.closed)
	}
	if iters < 1 || iters > MaxIters {
		return Result{}, fmt.Errorf("floor: %s: %d operations; want 1 to %d", f.name, iters, MaxIters)
	}
	if _, err := fmt.Fprintf(f.in, "run %d\n", iters); err != nil {
		return Result{}, f.fail(err)
	}
	line, err := f.out.ReadString('\n')
	if err != nil {
		return Result{}, f.fail(err)
	}
	r, err := parse(line)
	if err != nil {
		return Result{}, f.fail(err)
	}
	return r, nil
}

// Meter returns a function that takes a sample of iters operations and reports the
// nanoseconds per operation of the fastest variant.
func (f *Floor) Meter(iters int) func() (float64, error) {
	return func() (float64, error) {
		r, err := f.Sample(iters)
		return r.Ns, err
	}
}

// Close ends the floor's processes and waits for them. It may be called again.
func (f *Floor) Close() error {
	if f.closed != nil {
		return nil
	}
	f.closed = errClosed
	f.in.Close()
	// Its children die with it, and on a busy machine may need longer than WaitDelay for that.
	if err := f.cmd.Wait(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("floor: %s: %w", f.name, err)
	}
	return nil
}

// fail ends the floor after err and returns the reason, preferably in its own words.
func (f *Floor) fail(err error) error {
	f.in.Close()
	werr := f.cmd.Wait()
	said := strings.TrimPrefix(strings.TrimSpace(f.stderr.String()), "floor: ")
	switch {
	case said != "":
		said, _, _ = strings.Cut(said, "\n")
		f.closed = errors.New(said)
	case werr != nil:
		f.closed = werr
	default:
		f.closed = err
	}
	var status *exec.ExitError
	if errors.As(werr, &status) && status.ExitCode() == unsupported {
		return fmt.Errorf("%w: %s: %w", ErrUnsupported, f.name, f.closed)
	}
	return fmt.Errorf("floor: %s: %w", f.name, f.closed)
}

// parse reads a line "ok name=ns name=ns".
func parse(line string) (Result, error) {
	words := strings.Fields(line)
	if len(words) < 2 || words[0] != "ok" {
		return Result{}, fmt.Errorf("unexpected answer %q", line)
	}
	var r Result
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		ns, err := strconv.ParseFloat(value, 64)
		if err != nil || !(ns > 0) {
			return Result{}, fmt.Errorf("unexpected answer %q", line)
		}
		v := Variant{name, ns}
		if r.All == nil || ns < r.Ns {
			r.Variant = v
		}
		r.All = append(r.All, v)
	}
	return r, nil
}
