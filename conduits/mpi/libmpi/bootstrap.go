//go:build cgo

package libmpi

// #include <stdlib.h>
// #include "call.h"
import "C"

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/drain"
	"golang.org/x/sys/unix"
)

// bootstrap is MPI as what the ranks of a job find each other by.
type bootstrap struct {
	lib   *library
	local []core.Rank
	hosts []int      // by rank
	call  sync.Mutex // held during a collective call
	done  chan error

	mu      sync.Mutex
	closed  bool
	aborted bool
	status  int // if aborted
}

// Connect joins the job of the mpiexec that has started this process, and fails if there is none.
// It may be called once.
//
// The launcher, not a connection, tells a rank that the job has failed: it kills it.
func Connect() (core.Bootstrap, error) {
	f, n := launched()
	if f == nil {
		return nil, fmt.Errorf("mpi: no launcher of an MPI library has started this process")
	}
	err := f.linked()
	var l *library
	if err == nil {
		l, err = use(f.name)
	}
	if err != nil {
		return nil, fmt.Errorf("mpi: the launcher of %s has started this process as one of %d, but: %w", f.title, n, err)
	}
	if l.size != n {
		return nil, fmt.Errorf("mpi: the launcher of %s has started this process as one of %d, but for the library it is one of %d: they do not fit together; start the job by the mpiexec of the same installation",
			f.title, n, l.size)
	}
	b := &bootstrap{lib: l, done: make(chan error)}
	if b.local, err = l.local(); err != nil {
		return nil, err
	}
	lowest, err := b.Exchange(binary.LittleEndian.AppendUint32(nil, uint32(b.local[0])))
	if err != nil {
		return nil, err
	}
	b.hosts = numberHosts(lowest)
	return b, nil
}

// linked returns why the launcher that has started this process cannot be reached; nil: it seems that it can. Libraries end the
// process for want of it.
func (f *family) linked() error {
	text := os.Getenv(f.link)
	if f.link == "" || text == "" {
		return nil
	}
	fd, err := strconv.Atoi(text)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	}
	if err != nil {
		return fmt.Errorf("%s=%s is not its connection (%w); what starts programs in between, a script or a wrapper, must leave that open; start the job by mpiexec, or by aqrun", f.link, text, err)
	}
	return nil
}

// local returns the ranks on the caller's host, ascending.
func (l *library) local() (local []core.Rank, err error) {
	ranks, count := make([]C.int32_t, l.size), C.int(0)
	l.mu.Lock()
	defer l.mu.Unlock()
	if C.aqmpi_call_local(l.table, unsafe.SliceData(ranks), &count) != 0 {
		return nil, l.failure()
	}
	for _, r := range ranks[:count] {
		local = append(local, core.Rank(r))
	}
	return local, nil
}

// Rank implements core.Bootstrap.
func (b *bootstrap) Rank() core.Rank { return core.Rank(b.lib.rank) }

// Size implements core.Bootstrap.
func (b *bootstrap) Size() int { return b.lib.size }

// Local implements core.Bootstrap.
func (b *bootstrap) Local() []core.Rank { return b.local }

// Host implements core.Bootstrap.
func (b *bootstrap) Host(r core.Rank) int { return b.hosts[r] }

// Exchange implements core.Bootstrap: first the lengths, then the contents.
func (b *bootstrap) Exchange(data []byte) ([][]byte, error) {
	b.call.Lock()
	defer b.call.Unlock()
	n := b.lib.size
	// What a call has been given that has not ended stays: MPI may still use it.
	sizes, at, mine := inC[C.int](n), inC[C.int](n), inC[C.int](1)
	mine[0] = C.int(len(data))
	const sizeOf = C.int(unsafe.Sizeof(C.int(0)))
	if err := b.gather(unsafe.Pointer(&mine[0]), sizeOf, unsafe.Pointer(&sizes[0]), nil, nil); err != nil {
		return nil, err
	}
	total := 0
	for i, size := range sizes {
		at[i] = C.int(total)
		if total += int(size); total > math.MaxInt32 {
			return nil, fmt.Errorf("mpi: rank %d: Exchange of more than %d bytes in all", b.lib.rank, math.MaxInt32)
		}
	}
	in, out := inC[byte](len(data)+1), inC[byte](total+1)
	copy(in, data)
	if err := b.gather(unsafe.Pointer(&in[0]), mine[0], unsafe.Pointer(&out[0]), &sizes[0], &at[0]); err != nil {
		return nil, err
	}
	blobs := make([][]byte, n)
	for i := range blobs {
		blobs[i] = bytes.Clone(out[at[i]:][:sizes[i]])
	}
	freeC(sizes)
	freeC(at)
	freeC(mine)
	freeC(in)
	freeC(out)
	return blobs, nil
}

// Barrier implements core.Bootstrap.
func (b *bootstrap) Barrier() error {
	b.call.Lock()
	defer b.call.Unlock()
	return b.gather(nil, 0, nil, nil, nil)
}

// longest is the longest pause between two looks at a collective call that is under way: MPI has
// no descriptor to sleep on.
const longest = time.Millisecond

// gather performs a collective call of MPI. Others may call the library while it is under way.
func (b *bootstrap) gather(in unsafe.Pointer, n C.int, out unsafe.Pointer, count, at *C.int) error {
	l := b.lib
	begin := func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if C.aqmpi_call_gather(l.table, in, n, out, count, at) != 0 {
			return l.failure()
		}
		return nil
	}
	if err := b.over(); err != nil {
		return err
	}
	if err := begin(); err != nil {
		return err
	}
	for pause := time.Duration(0); ; pause = min(longest, 2*pause+time.Microsecond) {
		ended, err := b.gathered()
		if ended || err != nil {
			return err
		}
		if err := b.over(); err != nil {
			return err
		}
		time.Sleep(pause)
	}
}

// gathered looks at the collective call that is under way.
func (b *bootstrap) gathered() (ended bool, err error) {
	l := b.lib
	l.mu.Lock()
	defer l.mu.Unlock()
	var flag C.int
	if C.aqmpi_call_gathered(l.table, &flag) != 0 {
		return false, l.failure()
	}
	return flag != 0, nil
}

// over returns the end of the job as far as this rank knows of it.
func (b *bootstrap) over() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.aborted:
		return &core.ExitError{Status: b.status, Reason: fmt.Sprintf("rank %d has ended the job", b.lib.rank)}
	case b.closed:
		return fmt.Errorf("mpi: rank %d: a call after Close", b.lib.rank)
	}
	return nil
}

// Abort implements core.Bootstrap. The launcher learns of it when this process leaves by Exit, or
// dies, or has not done so a little later. The launcher is told a status only. So Abort prints the reason
// where aqrun prints it, on standard error: that line is the launcher's, and not for the job's logger.
func (b *bootstrap) Abort(status int, reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.aborted && (b.status != 0 || status == 0) {
		return
	}
	first := !b.aborted
	b.aborted, b.status = true, status
	if status != 0 {
		fmt.Fprintf(os.Stderr, "aqueduct: rank %d ended the job with status %d: %s\n",
			b.lib.rank, status, strings.TrimPrefix(reason, fmt.Sprintf("rank %d: ", b.lib.rank)))
	}
	if first {
		time.AfterFunc(patience, func() { b.Exit(status) })
	}
}

// patience is how long a rank that has aborted may take to leave.
const patience = time.Second

// Exit implements core.Exiter. The launcher then ends the job with the status of Abort, if that
// was called.
func (b *bootstrap) Exit(status int) {
	b.mu.Lock()
	aborted := b.aborted
	if aborted && b.status != 0 {
		status = b.status
	}
	b.mu.Unlock()
	if aborted {
		drain.Wait(os.Stdout, patience/4)
		drain.Wait(os.Stderr, patience/4)
		// At last without the lock of the library: another thread may be in a call that never returns.
		locked := make(chan struct{})
		go func() { b.lib.mu.Lock(); close(locked) }()
		apart := C.int(0) // whether no other call is under way
		select {
		case <-locked:
			apart = 1
		case <-time.After(patience / 4):
		}
		C.aqmpi_call_abort(b.lib.table, C.int(status), apart)
	}
	os.Exit(status)
}

// Done implements core.Bootstrap.
func (b *bootstrap) Done() <-chan error { return b.done }

// Close implements core.Bootstrap. After Abort MPI is not finalised, which would wait for others.
func (b *bootstrap) Close() error {
	b.mu.Lock()
	again, aborted := b.closed, b.aborted
	b.closed = true
	b.mu.Unlock()
	if again {
		return nil
	}
	close(b.done)
	if aborted {
		return nil
	}
	return b.lib.done()
}
