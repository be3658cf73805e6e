package against

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/runner"
)

// pattern is what a tool measures.
type pattern uint8

const (
	roundTrip pattern = iota // messages there and back
	stream                   // messages one way
	putStream                // puts one way
)

// job is one measurement by a tool.
type job struct {
	pattern     pattern
	size, iters int
}

// tool is a program of another project that measures networks: a server on one CPU, and a
// client on another which prints what it measured.
type tool struct {
	runner.Peer
	command  string
	packages string // that have it
	env      []string
	// server and client return the arguments for a port of the loopback interface; those of
	// the client are nil where the tool does not do such a job.
	server func(j job, port string) []string
	client func(j job, port string) []string
	// parse returns the nanoseconds of an operation from the client's output.
	parse func(j job, text []byte) (float64, error)
}

// localhost is where servers listen.
const localhost = "127.0.0.1"

// iperf3Least is the least payload, in bytes, that iperf3 is compared at: below it its own
// work for each call counts more than the network. iperf3Most is the most it sends by a call.
const (
	iperf3Least = 1 << 10
	iperf3Most  = 1 << 20
)

// iperf3Sample is the least that iperf3 sends for a sample, in bytes: the two sides do not start
// their clocks at the same time, which shows in a transfer of less than some milliseconds.
const iperf3Sample = 64 << 20

// iperf3Bytes returns how much iperf3 sends for a job.
func iperf3Bytes(j job) int64 { return max(int64(j.size)*int64(j.iters), iperf3Sample) }

// known are the tools, installed or not.
var known = []tool{
	{
		Peer:    runner.Peer{Unit: "x-libfabric", Name: "libfabric, fi_pingpong with reliable datagrams over UDP"},
		command: "fi_pingpong", packages: "libfabric-bin",
		server: func(j job, port string) []string { return append(fiPingPong(j), "-B", port) },
		client: func(j job, port string) []string {
			if j.pattern != roundTrip {
				return nil
			}
			return append(fiPingPong(j), "-P", port, localhost)
		},
		parse: func(_ job, text []byte) (float64, error) {
			us, err := lastOf(text, "usec/xfer")
			return 2 * us * 1e3, err // of one direction
		},
	},
	{
		Peer:    runner.Peer{Unit: "x-ucx", Name: "UCX, ucx_perftest over TCP"},
		command: "ucx_perftest", packages: "ucx-utils",
		env:    []string{"UCX_TLS=tcp", "UCX_NET_DEVICES=lo"},
		server: func(_ job, port string) []string { return []string{"-p", port} },
		client: func(j job, port string) []string {
			test := [...]string{roundTrip: "ucp_am_lat", stream: "ucp_am_bw", putStream: "ucp_put_bw"}[j.pattern]
			return []string{localhost, "-p", port, "-t", test, "-s", strconv.Itoa(j.size), "-f", "-v",
				"-n", strconv.Itoa(j.iters), "-w", strconv.Itoa(1 + j.iters/10)}
		},
		parse: func(j job, text []byte) (float64, error) {
			if j.pattern == roundTrip {
				us, err := lastOf(text, "overall_lat")
				return 2 * us * 1e3, err // of one direction
			}
			rate, err := lastOf(text, "overall_mr")
			return 1e9 / rate, err
		},
	},
	{
		Peer:    runner.Peer{Unit: "x-iperf3", Name: "iperf3 over TCP, the same bytes by calls of at most 1 MiB"},
		command: "iperf3", packages: "iperf3",
		server: func(_ job, port string) []string { return []string{"-s", "-1", "-B", localhost, "-p", port} },
		client: func(j job, port string) []string {
			if j.pattern == roundTrip || j.size < iperf3Least {
				return nil
			}
			// The client ends a test. With -R it is the receiver, and ends it when the bytes have
			// come; as the sender it would end it with bytes under way, which nobody counts then.
			return []string{"-c", localhost, "-p", port, "-J", "-R", "-l", strconv.Itoa(min(j.size, iperf3Most)),
				"-n", strconv.FormatInt(iperf3Bytes(j), 10)}
		},
		parse: parseIperf3,
	},
}

// fiPingPong returns the arguments that both sides of fi_pingpong have.
func fiPingPong(j job) []string {
	return []string{"-p", "udp;ofi_rxd", "-e", "rdm", "-I", strconv.Itoa(j.iters), "-S", strconv.Itoa(j.size)}
}

// Tools returns the tools that conduits of the network are compared with, installed or not.
func Tools(n Network) []runner.Peer {
	if n != Loopback {
		return nil
	}
	var peers []runner.Peer
	for i := range known {
		peers = append(peers, known[i].find())
	}
	return peers
}

// find returns the tool as a peer, Missing set if it is not installed.
func (t *tool) find() runner.Peer {
	p := t.Peer
	if _, err := exec.LookPath(t.command); err != nil {
		p.Missing = t.command + " is not installed (apt-get install " + t.packages + ")"
	}
	return p
}

// tools returns the installed tools as references.
func tools(p *runner.Plan, pattern pattern, size, iters int) []runner.Ref {
	var refs []runner.Ref
	for i := range known {
		t := &known[i]
		if p.Pair() != nil && t.find().Missing == "" && t.client(job{pattern, size, iters}, "") != nil {
			refs = append(refs, t.ref(job{pattern, size, iters}, p.Pair()))
		}
	}
	return refs
}

// ref returns the tool doing a job, the client on the first CPU and the server on the second.
// One that cannot do this job here, say because its messages are limited, is left out.
func (t *tool) ref(j job, cpus []int) runner.Ref {
	return runner.Ref{Unit: t.Unit, What: t.Name, Peer: true, Open: func(ctx context.Context) (bench.Meter, io.Closer, error) {
		if _, err := t.run(ctx, j, cpus); err != nil {
			fmt.Fprintf(os.Stderr, "aqbench: no %s for %d bytes: %v\n", t.Unit, j.size, err)
			return nil, nil, ctx.Err()
		}
		return func() (float64, error) { return t.run(ctx, j, cpus) }, nil, nil
	}}
}

// patience is how long a server may take to listen.
const patience = 10 * time.Second

// run measures once and returns the nanoseconds of an operation.
func (t *tool) run(ctx context.Context, j job, cpus []int) (float64, error) {
	port, err := freePort()
	if err != nil {
		return 0, err
	}
	s, err := t.serve(ctx, j, port, cpus[1])
	if err != nil {
		return 0, err
	}
	defer s.stop()
	// Not every server says when it listens; a client that comes too early fails at once.
	for start := time.Now(); ; {
		ns, err := t.ask(ctx, j, port, cpus[0])
		if err == nil {
			return ns, nil
		}
		if !errors.Is(err, errClient) || s.ended() || ctx.Err() != nil || time.Since(start) > patience {
			return 0, fmt.Errorf("against: %s: %w; the server said %q", t.command, err, s.said())
		}
	}
}

// errClient says that a client reports a failure.
var errClient = errors.New("the client failed")

// start returns a process of the tool with these arguments, on a CPU.
func (t *tool) start(ctx context.Context, args []string, cpu int, out io.Writer) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, t.command, args...)
	cmd.Env = append(os.Environ(), t.env...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // no server outlives a rank that is killed
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("against: %w", err)
	}
	// One that has ended already, because it came too early, cannot be pinned and need not be.
	if err := bench.Pin(cmd.Process.Pid, cpu); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	return cmd, nil
}

// ask runs a client and returns the nanoseconds of an operation.
func (t *tool) ask(ctx context.Context, j job, port string, cpu int) (float64, error) {
	var out bytes.Buffer
	cmd, err := t.start(ctx, t.client(j, port), cpu, &out)
	if err != nil {
		return 0, err
	}
	if err := cmd.Wait(); err != nil {
		return 0, fmt.Errorf("%w: %w: %s", errClient, err, out.Bytes())
	}
	ns, err := t.parse(j, out.Bytes())
	if err == nil && !(ns > 0 && !math.IsInf(ns, 1)) {
		err = fmt.Errorf("%v ns", ns)
	}
	if err != nil {
		err = fmt.Errorf("%w in %q", err, out.Bytes())
	}
	return ns, err
}

// server is a running server.
type server struct {
	cmd  *exec.Cmd
	out  bytes.Buffer
	done chan struct{} // closed when it has ended
}

// serve starts a server.
func (t *tool) serve(ctx context.Context, j job, port string, cpu int) (*server, error) {
	s := &server{done: make(chan struct{})}
	var err error
	if s.cmd, err = t.start(ctx, t.server(j, port), cpu, &s.out); err != nil {
		return nil, err
	}
	go func() {
		defer close(s.done)
		s.cmd.Wait() // how it ended does not matter once the client has its figures
	}()
	return s, nil
}

// stop ends the server.
func (s *server) stop() {
	s.cmd.Process.Kill()
	<-s.done
}

// ended says whether the server has ended.
func (s *server) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// said ends the server and returns what it printed.
func (s *server) said() string {
	s.stop()
	return s.out.String()
}

// freePort returns a port of the loopback interface that nobody uses.
func freePort() (string, error) {
	l, err := net.Listen("tcp4", net.JoinHostPort(localhost, "0"))
	if err != nil {
		return "", fmt.Errorf("against: %w", err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}

// lastOf returns the last value in the column of a table that has this title. Columns are
// separated by commas or spaces.
func lastOf(text []byte, title string) (float64, error) {
	column, value := -1, ""
	for line := range strings.Lines(string(text)) {
		words := strings.FieldsFunc(line, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
		if i := slices.Index(words, title); i >= 0 {
			column, value = i, ""
		} else if column >= 0 && column < len(words) {
			value = words[column]
		}
	}
	if value == "" {
		return 0, fmt.Errorf("no %s", title)
	}
	return strconv.ParseFloat(value, 64)
}

// parseIperf3 reads what iperf3 -J prints, which ends well even if it fails.
func parseIperf3(j job, text []byte) (float64, error) {
	var report struct {
		End struct {
			Received struct{ Bytes, Seconds float64 } `json:"sum_received"`
		}
		Error string
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return 0, err
	}
	if report.Error != "" {
		return 0, fmt.Errorf("%w: %s", errClient, report.Error)
	}
	r := report.End.Received
	if want := iperf3Bytes(j); !(r.Bytes >= float64(want)) {
		return 0, fmt.Errorf("%.0f bytes of %d were counted", r.Bytes, want)
	}
	return r.Seconds * 1e9 / r.Bytes * float64(j.size), nil
}
