package spawner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/mtls"
	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// DefaultStartTimeout is how long ranks wait for each other where no launcher of this package starts them, if EnvStartTimeout does not say.
const DefaultStartTimeout = 5 * time.Minute

// StartTimeout returns how long ranks wait for each other, as EnvStartTimeout says.
func StartTimeout() (time.Duration, error) {
	text := os.Getenv(EnvStartTimeout)
	if text == "" {
		return DefaultStartTimeout, nil
	}
	limit, err := time.ParseDuration(text)
	if err != nil || limit <= 0 {
		return 0, fmt.Errorf("%s=%q is not a time such as 90s or 10m", EnvStartTimeout, text)
	}
	return limit, nil
}

// envIndex is the variable in which a pod of a Kubernetes Indexed Job finds its number. It counts where EnvRank is not set.
const envIndex = "JOB_COMPLETION_INDEX"

// Static reports whether the environment says that this process is a rank of a static job: one whose processes something has
// started that knows no jobs, each with its rank, how many there are, where rank 0 is reached and the file of the key. Connect joins
// it.
//
// Rank 0 listens. The others connect to it, whenever it comes; all do so by TLS 1.3, under the key (package internal/mtls). It does for
// the job what the process of a launcher does otherwise, and is a rank besides: if it is lost, so is the job.
func Static() bool { return os.Getenv(EnvRoot) != "" }

// staticSpec is what the environment says of a static job.
type staticSpec struct {
	rank, size int
	root       string // host:port
	key        mtls.Key
	limit      time.Duration // for the start
	grace      time.Duration
	silence    time.Duration // after which a rank is lost, the same for all; 0: the default
	verbose    bool
}

// readStatic reads the environment. It removes EnvKeyFile from it, so that children of the rank do not take themselves for ranks.
func readStatic() (*staticSpec, error) {
	keyFile := os.Getenv(EnvKeyFile)
	os.Unsetenv(EnvKeyFile)
	bad := func(name, value, want string) error {
		return fmt.Errorf("spawner: a static job (%s=%s): %s=%q is not %s", EnvRoot, os.Getenv(EnvRoot), name, value, want)
	}
	s := &staticSpec{root: os.Getenv(EnvRoot), verbose: os.Getenv("AQUEDUCT_VERBOSE") == "1"}
	var err error
	if s.size, err = strconv.Atoi(os.Getenv(EnvSize)); err != nil || s.size < 1 || s.size > MaxRanks {
		return nil, bad(EnvSize, os.Getenv(EnvSize), fmt.Sprintf("a number of ranks from 1 to %d", MaxRanks))
	}
	if s.rank, err = strconv.Atoi(RankText()); err != nil || s.rank < 0 || s.rank >= s.size {
		name := EnvRank
		if os.Getenv(EnvRank) == "" && RankText() != "" {
			name = envIndex
		}
		return nil, bad(name, RankText(), fmt.Sprintf("a rank of a job of %d", s.size))
	}
	if host, port, err := net.SplitHostPort(s.root); err != nil || host == "" || port == "" || port == "0" {
		return nil, bad(EnvRoot, s.root, "the host:port at which rank 0 is reached")
	}
	if s.limit, err = StartTimeout(); err != nil {
		return nil, fmt.Errorf("spawner: a static job (%s=%s): %w", EnvRoot, s.root, err)
	}
	s.silence = DefaultSilence
	if text := os.Getenv(EnvHostTimeout); text != "" {
		if s.silence, err = time.ParseDuration(text); err != nil || s.silence < MinSilence {
			return nil, bad(EnvHostTimeout, text, fmt.Sprintf("a time such as 20s, of %v at least", MinSilence))
		}
	}
	if text := os.Getenv(EnvGrace); text != "" {
		if s.grace, err = time.ParseDuration(text); err != nil || s.grace < 0 {
			return nil, bad(EnvGrace, text, "a time such as 2s")
		}
	}
	if keyFile == "" {
		return nil, fmt.Errorf("spawner: a static job (%s=%s) needs %s, the path of a file with a key that all its ranks have; make one by `openssl rand -hex %d`",
			EnvRoot, s.root, EnvKeyFile, mtls.KeySize)
	}
	if s.key, err = mtls.ReadKey(keyFile); err != nil {
		return nil, fmt.Errorf("spawner: rank %d: %w", s.rank, err)
	}
	return s, nil
}

// staticProtocol names what goes over the streams of a static job, and its version.
const staticProtocol = "aqueduct-static/1"

// arrival is what a rank of a static job says of itself.
type arrival struct {
	Rank, Size int
	Build      string // of its program
	Name       string // that its host gives itself
	Host       string // tells one host from others
	Process    int
	Silence    time.Duration // staticSpec.silence
}

// pulse is how often each end of a stream is heard.
func (s *staticSpec) pulse() time.Duration { return cmp.Or(s.silence/beats, pulse) }

// noticeTime is how long it takes at most to notice that a rank is lost.
func (s *staticSpec) noticeTime() time.Duration { return (beats + 1) * s.pulse() }

// newTrunk makes one end of the stream between rank 0 and a rank.
func (s *staticSpec) newTrunk(rw io.ReadWriteCloser) *trunk {
	t := newTrunk(rw)
	t.pulse = s.pulse()
	return t
}

// arrive returns what this process says of itself.
func (s *staticSpec) arrive() (*arrival, error) {
	me, err := introduce()
	if err != nil {
		return nil, err
	}
	name, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	return &arrival{Rank: s.rank, Size: s.size, Build: me.Build, Name: name, Host: me.Identity, Process: os.Getpid(), Silence: s.silence}, nil
}

// connectStatic joins the static job that the environment describes. If that does not start the error is a *core.ExitError.
func connectStatic() (core.Bootstrap, error) {
	s, err := readStatic()
	if err != nil {
		return nil, err
	}
	me, err := s.arrive()
	if err != nil {
		return nil, fmt.Errorf("spawner: rank %d: %w", s.rank, err)
	}
	if s.rank == 0 {
		return s.lead(me)
	}
	t, hostOf, err := s.reach(me)
	if err != nil {
		return nil, failure(statusSelf, "rank %d on host %s: %v", s.rank, me.Name, err)
	}
	return s.takePart(t, hostOf, nil)
}

// refusal is rank 0's answer to a rank that it does not want.
type refusal struct{ reason string }

// Error implements error.
func (r *refusal) Error() string { return r.reason }

// reach connects with rank 0, which may not be there yet, nor its name, and waits until all ranks have come.
func (s *staticSpec) reach(me *arrival) (*trunk, placement, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.limit)
	defer cancel()
	var (
		t      *trunk
		hostOf placement
		err    error
		said   bool
	)
	if retry(ctx, func() bool {
		var failed error
		t, hostOf, failed = s.attempt(ctx, me)
		if late := net.Error(nil); failed == nil || err == nil || !errors.As(failed, &late) || !late.Timeout() {
			err = failed // that the time is over says less than why an attempt failed before
		}
		if err == nil || errors.As(err, new(*refusal)) || errors.Is(err, mtls.ErrKey) {
			return true
		}
		if !said {
			said = true
			fmt.Fprintf(os.Stderr, "aqueduct: rank %d waits for rank 0 at %s, for %v at most: %v\n", s.rank, s.root, s.limit, err)
		}
		return false
	}) {
		if errors.Is(err, mtls.ErrKey) {
			err = fmt.Errorf("rank 0 at %w; give all ranks the same file (%s)", err, EnvKeyFile)
		}
		return t, hostOf, err
	}
	return nil, nil, fmt.Errorf("rank 0 was not reached at %s (%s) within %v (%s): %w", s.root, EnvRoot, s.limit, EnvStartTimeout, err)
}

// attempt connects with rank 0 once.
func (s *staticSpec) attempt(ctx context.Context, me *arrival) (*trunk, placement, error) {
	c, err := s.key.Dial(ctx, staticProtocol, s.root)
	if err != nil {
		return nil, nil, err
	}
	return s.enter(c, me)
}

// enter says who this rank is to rank 0 at the other end of a stream, and waits until all ranks have come. The stream becomes the
// trunk's, or is closed.
func (s *staticSpec) enter(rw io.ReadWriteCloser, me *arrival) (*trunk, placement, error) {
	t := s.newTrunk(rw)
	t.sendJSON(wordHello, me)
	t.start()
	hostOf, err := s.admission(t)
	if err != nil {
		t.cut()
		return nil, nil, err
	}
	return t, hostOf, nil
}

// admission waits for rank 0's answer.
func (s *staticSpec) admission(t *trunk) (placement, error) {
	w, r, err := t.receiveNews()
	if err != nil {
		return nil, fmt.Errorf("rank 0 is gone: %w", err)
	}
	switch w {
	case wordReady:
		return readPlacement(r, s.size)
	case wordRefusal:
		r.Uint32() // the status: this rank cannot start, whatever it is
		if text := r.Text(); r.End() == nil {
			return nil, &refusal{text}
		}
	}
	return nil, &refusal{fmt.Sprintf("rank 0 answered with a malformed %v", w)}
}

// decodeArrival reads what a rank says of itself.
func decodeArrival(w word, r *wire.Reader) (*arrival, error) {
	a := new(arrival)
	if w != wordHello {
		return nil, fmt.Errorf("it said %v in place of who it is", w)
	}
	if err := json.Unmarshal(r.Rest(), a); err != nil {
		return nil, fmt.Errorf("it did not say who it is: %w", err)
	}
	const longest = 4096 // of any text
	for _, text := range []string{a.Build, a.Name, a.Host} {
		if len(text) > longest || strings.ContainsRune(text, '\n') {
			return nil, fmt.Errorf("it said who it is by %d bytes, %.40q", len(text), text)
		}
	}
	return a, nil
}
