package spawner

import (
	"net"
	"slices"

	"golang.org/x/sys/unix"
)

// order is the order in which the processes of a job have begun to end. A Starter kills all when one
// has failed, and reaps them as it likes, so which went first decides whose failure it was. The kernel
// knows: an epoll instance lists events in the order in which they came about, though nobody looks at it.
type order struct {
	epoll   int
	waiting []sign // what look has found, the first first, until it is dropped
}

// sign is what shows that a process has ended, or is about to.
type sign struct {
	who   int
	pidfd int // that has told its end; nobody: it has closed its connection, as it does before
}

func newOrder() (*order, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	return &order{epoll: fd}, err
}

// ends has who listed when its process has ended.
func (o *order) ends(who, pidfd int) error { return o.watch(who, pidfd, pidfd, unix.EPOLLIN) }

// hangsUp has who listed when it has closed its end of a connection. A process that ends does so before
// its end is told, and a Starter may act on the former.
func (o *order) hangsUp(who int, c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = o.watch(who, nobody, int(fd), unix.EPOLLRDHUP) })
	if err == nil {
		err = failed
	}
	return err
}

// watch has a sign listed once, however often the event comes.
func (o *order) watch(who, pidfd, fd int, event uint32) error {
	return unix.EpollCtl(o.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: event | unix.EPOLLONESHOT, Fd: int32(who), Pad: int32(pidfd)})
}

// look lists what has come about. A descriptor must not be closed before its event is listed.
func (o *order) look() {
	var events [64]unix.EpollEvent
	for n := len(events); n == len(events); {
		n, _ = unix.EpollWait(o.epoll, events[:], 0) // which does not wait
		for _, e := range events[:max(n, 0)] {
			o.waiting = append(o.waiting, sign{who: int(e.Fd), pidfd: int(e.Pad)})
		}
	}
}

// first returns what is listed first; ok is false if nothing is.
func (o *order) first() (s sign, ok bool) {
	if o.look(); len(o.waiting) == 0 {
		return sign{}, false
	}
	return o.waiting[0], true
}

// pending reports whether somebody is listed: what else is known has come of that end, maybe, and is judged after it.
func (o *order) pending() bool {
	_, ok := o.first()
	return ok
}

// drop takes the first off the list.
func (o *order) drop() { o.waiting = slices.Delete(o.waiting, 0, 1) }

func (o *order) close() { unix.Close(o.epoll) }
