package pmi

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/drain"
	"github.com/aqueduct-go/aqueduct/spawner"
)

// bootstrap is a rank's Bootstrap.
type bootstrap struct {
	rank, size int
	store      store
	host       *spawner.Neighbours
	kills      bool // the launcher, asked to end the job, does so with a status of its own

	call   sync.Mutex    // held during a collective call
	failed chan struct{} // closed when cause is set
	done   chan error

	mu     sync.Mutex
	cause  error
	closed bool
	ending bool // Abort has been called here, or heard of
	status int  // if so
	reason string
}

// Rank implements core.Bootstrap.
func (b *bootstrap) Rank() core.Rank { return core.Rank(b.rank) }

// Size implements core.Bootstrap.
func (b *bootstrap) Size() int { return b.size }

// Local implements core.Bootstrap.
func (b *bootstrap) Local() []core.Rank { return b.host.Local() }

// Host implements core.Bootstrap.
func (b *bootstrap) Host(r core.Rank) int { return b.host.Host(r) }

// Done implements core.Bootstrap.
func (b *bootstrap) Done() <-chan error { return b.done }

// MaxExchange is the most bytes a rank may give to one Exchange: what the launcher keeps lasts as long as the job.
const MaxExchange = 1 << 20

// Exchange implements core.Bootstrap; data has at most MaxExchange bytes.
func (b *bootstrap) Exchange(data []byte) (all [][]byte, err error) {
	if len(data) > MaxExchange {
		return nil, fmt.Errorf("pmi: rank %d: Exchange of %d bytes; the most is %d", b.rank, len(data), MaxExchange)
	}
	err = b.collective(func() error {
		var err error
		all, err = b.host.Exchange(data, b.tell)
		return err
	})
	return all, err
}

// tell is the launcher's store, as Neighbours want it.
func (b *bootstrap) tell(own []byte, from []int) (theirs [][]byte, err error) {
	b.store.begin()
	if own != nil {
		if err := b.store.publish(b.rank, own); err != nil {
			return nil, err
		}
	}
	if err := b.store.fence(); err != nil {
		return nil, err
	}
	for _, rank := range from {
		given, err := b.store.read(rank)
		if err != nil {
			return nil, err
		}
		theirs = append(theirs, given)
	}
	return theirs, nil
}

// Barrier implements core.Bootstrap.
func (b *bootstrap) Barrier() error {
	return b.collective(func() error {
		if len(b.Local()) < b.size {
			return b.store.fence()
		}
		_, err := b.host.Exchange(nil, b.tell)
		return err
	})
}

// ShareFD implements core.DescriptorSharer.
func (b *bootstrap) ShareFD(fd int) (fds []int, err error) {
	err = b.collective(func() error {
		var err error
		fds, err = b.host.Share(fd)
		return err
	})
	return fds, err
}

// collective makes a call of all ranks.
func (b *bootstrap) collective(call func() error) error {
	b.call.Lock()
	defer b.call.Unlock()
	b.mu.Lock()
	cause, closed := b.cause, b.closed
	b.mu.Unlock()
	switch {
	case cause != nil:
		return cause
	case closed:
		return fmt.Errorf("pmi: rank %d: a call after Close", b.rank)
	}
	err := call()
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case err == nil:
		return nil
	case b.cause != nil:
		return b.cause
	}
	return fmt.Errorf("pmi: rank %d: %w", b.rank, err)
}

// watch fails the job when the launcher is lost.
func (b *bootstrap) watch() { b.fail(fmt.Errorf("pmi: rank %d: %w", b.rank, b.store.wait())) }

// fail tells this rank that the job has failed, unless it has finished or knows.
func (b *bootstrap) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cause != nil || b.closed {
		return
	}
	b.cause = err
	b.done <- err
	close(b.done)
	close(b.failed)
}

// heard takes note of what a rank of the host says of the end of the job, or that it is gone.
func (b *bootstrap) heard(end bool, status int, reason string, from int) {
	if !end {
		// The launcher knows of what, and has the first word.
		time.AfterFunc(patience, func() { b.lose(reason) })
		return
	}
	b.mu.Lock()
	news := !b.closed && b.end(status, reason)
	b.mu.Unlock()
	if news {
		b.host.End(status, reason, from)
		b.fail(&core.ExitError{Status: status, Reason: reason})
	}
}

// lose ends the job because of a rank that is gone, unless it is ending.
func (b *bootstrap) lose(reason string) {
	b.mu.Lock()
	over := b.closed || b.ending
	b.mu.Unlock()
	if !over {
		b.Abort(1, reason)
		b.fail(&core.ExitError{Status: 1, Reason: reason})
	}
}

// end notes that the job ends with the status, and reports whether that is news: the first counts, but non-zero
// beats zero.
func (b *bootstrap) end(status int, reason string) bool {
	if b.ending && (b.status != 0 || status == 0) {
		return false
	}
	b.ending, b.status, b.reason = true, status, reason
	return true
}

// Abort implements core.Bootstrap. The launcher learns of it when this process leaves by Exit, or dies, or has not
// done so a little later. It is told a status only. So Abort prints the reason where aqrun prints it, on standard
// error: that line is the launcher's, and not for the job's logger.
func (b *bootstrap) Abort(status int, reason string) {
	b.mu.Lock()
	first := !b.ending
	news := !b.closed && b.end(status, reason)
	b.mu.Unlock()
	if !news {
		return
	}
	if status != 0 {
		fmt.Fprintf(os.Stderr, "aqueduct: rank %d ended the job with status %d: %s\n",
			b.rank, status, strings.TrimPrefix(reason, fmt.Sprintf("rank %d: ", b.rank)))
	}
	if b.kills {
		b.host.End(status, reason, b.rank)
	}
	if first {
		time.AfterFunc(patience, func() { b.Exit(status) })
	}
}

// patience is how long a rank that has aborted may take to leave, and how long a launcher to end the job of a rank that
// has died.
const patience = time.Second

// Exit implements core.Exiter. The launcher then ends the job with the status of Abort, if that was called.
func (b *bootstrap) Exit(status int) {
	b.mu.Lock()
	ending, reason := b.ending, b.reason
	if ending && b.status != 0 {
		status = b.status
	}
	b.mu.Unlock()
	if ending {
		drain.Wait(os.Stdout, patience/4) // what the launcher has not read when it kills this process is lost
		drain.Wait(os.Stderr, patience/4)
		if !b.kills || len(b.Local()) < b.size {
			_ = b.store.abort(status, reason) // an error means that it is gone
		}
	}
	os.Exit(status)
}

// Close implements core.Bootstrap. After Abort the launcher is not told that this rank has finished.
func (b *bootstrap) Close() error {
	b.mu.Lock()
	again, ending, failed := b.closed, b.ending, b.cause != nil
	b.closed = true
	b.mu.Unlock()
	if again {
		return nil
	}
	if !failed {
		close(b.done)
	}
	if ending || failed {
		return nil
	}
	b.host.Leave()
	if err := b.store.finish(); err != nil {
		return fmt.Errorf("pmi: rank %d: %w", b.rank, err)
	}
	return nil
}
