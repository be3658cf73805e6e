//go:build cgo

package libmpi

/*
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "call.h"

// Libraries replace signal handlers when they are opened, as UCX does, or initialised, for their back
// traces, and the calling thread's signal stack with them. The Go runtime needs its own: it turns a SIGSEGV
// into a panic.

typedef struct {
	struct sigaction handler[NSIG];
	stack_t stack; // of the thread
} signals;

static void note_signals(signals *all)
{
	memset(all, 0, sizeof *all);
	for (int s = 1; s < NSIG; s++)
		sigaction(s, NULL, &all->handler[s]);
	sigaltstack(NULL, &all->stack);
}

// keep_signals puts back the signal stack, and the handlers that have been replaced. One that was added must
// run on the signal stack, since the threads' stacks may be small.
static void keep_signals(const signals *all)
{
	const struct sigaction *before = all->handler;
	sigaltstack(&all->stack, NULL);
	for (int s = 1; s < NSIG; s++) {
		struct sigaction now;
		if (sigaction(s, NULL, &now) != 0 || now.sa_handler == before[s].sa_handler)
			continue;
		if (before[s].sa_handler != SIG_DFL && before[s].sa_handler != SIG_IGN) {
			sigaction(s, &before[s], NULL);
		} else if (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN) {
			now.sa_flags |= SA_ONSTACK;
			sigaction(s, &now, NULL);
		}
	}
}

static int aqmpi_init(const aqmpi_table *t, int want, int *level, int *owner)
{
	signals before;
	note_signals(&before);
	int result = aqmpi_call_init(t, want, level, owner);
	keep_signals(&before);
	return result;
}

// aqmpi_linked reports whether the program is linked with an MPI library, or has opened one for all to see.
static int aqmpi_linked(void) { return dlsym(RTLD_DEFAULT, "MPI_Init_thread") != NULL; }

static const aqmpi_table *aqmpi_load(const char *path, int global, const char **why)
{
	// UCX, when it is opened, writes jumps over the beginnings of mmap, munmap, brk and others in the C library, and
	// tries them by moving the end of the heap to and fro: to see which memory goes, of which it keeps registrations
	// for networks. That is for processes of one thread, and a Go process has several. Nor does it see what the Go
	// runtime gives back by system calls of its own, so that such registrations could be of what is gone.
	setenv("UCX_MEM_EVENTS", "n", 0);
	signals before;
	note_signals(&before);
	void *so = dlopen(path, global ? RTLD_NOW | RTLD_GLOBAL : RTLD_LAZY | RTLD_LOCAL);
	keep_signals(&before);
	const aqmpi_table *(*functions)(void) = so ? (const aqmpi_table *(*)(void))dlsym(so, AQMPI_SYMBOL) : NULL;
	if (!functions) {
		*why = dlerror();
		return NULL;
	}
	return functions();
}
*/
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"
)

// library is MPI in this process, of one family. Its calls are serialised.
type library struct {
	mu    sync.Mutex // held during every call, but those of the only user
	table *C.aqmpi_table

	family     *family
	rank, size int // among the processes that MPI has started together
	level      C.int
	owner      C.int
	alone      bool // the program does not call MPI
	users      int  // ends and bootstraps that are open
	// shared is set once there is a second user. A user that is joined by another is in no call
	// then: a bootstrap comes before the ends, and a rank has one conduit.
	shared atomic.Bool
}

// the is the library of the process, once it is initialised.
var the struct {
	sync.Mutex
	*library
	held bool // it outlives its users
}

// Hold has MPI stay initialised, once it is, when a job ends, so that this process may take part in
// one job after another: MPI cannot be initialised twice. The function returned is called when no
// job follows; it finalises MPI.
func Hold() (release func() error) {
	the.Lock()
	defer the.Unlock()
	the.held = true
	return func() error {
		the.Lock()
		defer the.Unlock()
		the.held = false
		if the.library == nil {
			return nil
		}
		return the.library.finalize()
	}
}

// probe tells whether the family's library can be opened here.
func (f *family) probe() error {
	path, err := f.shim()
	if err == nil {
		_, err = load(path, false)
	}
	return err
}

// load opens a shim, and with it its library. A look whether that works keeps it from resolving
// symbols of other libraries; the first use makes it visible to all.
func load(path string, global bool) (*C.aqmpi_table, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var why *C.char
	var visible C.int
	if global {
		visible = 1
	}
	t := C.aqmpi_load(name, visible, &why)
	if t == nil {
		return nil, errors.New(C.GoString(why))
	}
	if t.version != C.AQMPI_VERSION {
		return nil, fmt.Errorf("%s has version %d of the table of functions, this program %d; build both anew with make", path, t.version, C.AQMPI_VERSION)
	}
	return t, nil
}

// use returns the library that a profile stands for, initialised; every use ends with done.
// Collective over the job at the first use.
func use(profile string) (*library, error) {
	f, err := resolve(profile)
	if err != nil {
		return nil, err
	}
	the.Lock()
	defer the.Unlock()
	switch {
	case the.library == nil:
		if the.library, err = start(f); err != nil {
			return nil, err
		}
	case the.library.family != f:
		return nil, fmt.Errorf("this process uses %s already, and cannot use %s", the.library.family.title, f.title)
	case the.library.table == nil:
		return nil, errors.New("MPI has been finalised in this process and cannot be initialised again")
	}
	if the.library.users++; the.library.users > 1 {
		the.library.shared.Store(true)
	}
	return the.library, nil
}

// start opens and initialises the library.
func start(f *family) (*library, error) {
	path, err := f.shim()
	if err != nil {
		return nil, err
	}
	l := &library{family: f, alone: !beside.Load() && C.aqmpi_linked() == 0}
	// Calls of this package do not overlap. MPI's own locks, which every call pays for, are for
	// programs that call MPI as well.
	want := C.int(C.AQMPI_MULTIPLE)
	if l.alone {
		want = C.AQMPI_SERIALIZED
	}
	if l.table, err = load(path, true); err != nil {
		return nil, err
	}
	if C.aqmpi_init(l.table, want, &l.level, &l.owner) != 0 {
		return nil, l.failure()
	}
	if l.level < C.AQMPI_SERIALIZED && !l.async() {
		return nil, fmt.Errorf("%s, but goroutines move between threads, which needs MPI_THREAD_SERIALIZED; let whoever initialises MPI ask for that", l)
	}
	var rank, size C.int
	if C.aqmpi_call_world(l.table, &rank, &size) != 0 {
		return nil, l.failure()
	}
	l.rank, l.size = int(rank), int(size)
	return l, nil
}

// levels are the levels of thread support, in the order of their numbers.
var levels = [...]string{"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"}

// String says what library it is, and what it provides.
func (l *library) String() string {
	by := "this package"
	if l.owner == C.AQMPI_THEIRS {
		by = "the program"
	}
	return fmt.Sprintf("%s, initialised by %s, provides %s", C.GoString(C.aqmpi_call_library(l.table)), by, levels[l.level])
}

// Describe says what MPI this process uses: library and version, who has initialised it, and the level
// of thread support; "" before it is initialised, and after its end.
func Describe() string {
	the.Lock()
	defer the.Unlock()
	if the.library == nil || the.library.table == nil {
		return ""
	}
	return the.library.String()
}

// async reports whether this package may call MPI at any time, from any thread, if its own calls do not overlap.
func (l *library) async() bool {
	return l.level == C.AQMPI_MULTIPLE || l.alone && l.owner == C.AQMPI_OURS
}

// done ends a use. With the last one MPI is finalised if this package has initialised it.
func (l *library) done() error {
	the.Lock()
	defer the.Unlock()
	l.users--
	return l.finalize()
}

// finalize ends MPI if nothing needs it and this package has initialised it.
func (l *library) finalize() error {
	if l.users > 0 || the.held || l.owner == C.AQMPI_THEIRS {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.table
	if C.aqmpi_call_finalize(t) != 0 {
		return l.failure()
	}
	l.table = nil
	return nil
}

// failure returns the error of the last call.
func (l *library) failure() error {
	return fmt.Errorf("%s: %s", l.family.title, C.GoString(C.aqmpi_call_error(l.table)))
}

// check returns an error for a process whose place in MPI is not that in the job: as when
// launcher and library do not fit together, so that each process is alone.
func (l *library) check(rank, size int) error {
	if l.rank == rank && l.size == size {
		return nil
	}
	return fmt.Errorf("rank %d of a job of %d is process %d of %d for %s: library and launcher do not fit together; start the job by the launcher of the same installation, as aqrun --conduit mpi does",
		rank, size, l.rank, l.size, l.family.title)
}
