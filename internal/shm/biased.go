package shm

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// Biased is a lock that one party, its owner, takes all the time and others hardly ever. The
// owner enters and leaves by a plain store each. Another who locks it has every thread run a
// barrier first (see Membarrier); the bias is the owner's again when it next enters. The owner
// may be different goroutines if they enter one after the other.
//
// The zero value is a plain mutex, which any number of owners may enter.
type Biased struct {
	mu     sync.Mutex
	inside uint32 // the owner is, unless there are several
	free   uint32 // 1: nobody else is or comes in without a barrier
	biased bool
}

// Bias lets the one owner do without the mutex, if the kernel has what that needs. Nobody may
// use the lock yet.
func (l *Biased) Bias() { l.biased = RegisterMembarrier() }

// Enter is the owner's Lock.
func (l *Biased) Enter() {
	Signal32(&l.inside, 1)
	if atomic.LoadUint32(&l.free) == 0 {
		l.pass()
	}
}

// pass enters by the mutex, and takes the bias back.
func (l *Biased) pass() {
	Publish32(&l.inside, 0)
	l.mu.Lock()
	if l.biased {
		atomic.StoreUint32(&l.free, 1)
		Signal32(&l.inside, 1)
		l.mu.Unlock()
	}
}

// Leave is the owner's Unlock.
func (l *Biased) Leave() {
	if l.biased {
		Publish32(&l.inside, 0)
		return
	}
	l.mu.Unlock()
}

// Lock locks out the owner and others.
func (l *Biased) Lock() {
	l.mu.Lock()
	if atomic.LoadUint32(&l.free) == 0 {
		return
	}
	atomic.StoreUint32(&l.free, 0)
	if err := Membarrier(); err != nil {
		panic(fmt.Sprintf("shm: a command that was registered for fails: %v", err))
	}
	for atomic.LoadUint32(&l.inside) != 0 {
		runtime.Gosched()
	}
}

// Unlock is Lock's.
func (l *Biased) Unlock() { l.mu.Unlock() }
