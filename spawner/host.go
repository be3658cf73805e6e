package spawner

import "syscall"

// host is what a Job, or an agent, can have done where some of its ranks live: here (local), or on other hosts, by the
// agents there (remote). All calls are made on the loop. None of them blocks.
type host interface {
	// send sends a rank that has joined a frame.
	send(rank int, frame []byte)
	// broadcast sends frames to all ranks of the host, which have joined.
	broadcast(frames []byte)
	// conclude tells the ranks how the job ends: those that have joined, or will, by the frame, which is
	// a kindEnd, the others by SIGTERM.
	conclude(frame []byte)
	// deal passes the descriptors that the ranks of the host have given to a ShareFD, all of them, to each.
	deal()
	// hangUp closes the connection to a rank.
	hangUp(rank int)
	// signal sends a signal to the process group of a rank.
	signal(rank int, sig syscall.Signal)
	// signalAll sends a signal to those of all ranks of the host.
	signalAll(sig syscall.Signal)
}

// ownHost is one whose processes this process starts.
type ownHost interface {
	host
	// launch starts the processes of the host's ranks and returns when all run. On error none is left. It is not called
	// on the loop.
	launch() error
}

// hostEvents is what a host tells, on its loop. Ranks have their numbers in the job.
type hostEvents interface {
	// began tells which process a rank is.
	began(rank, pid int)
	// joined tells that a rank takes part from now on.
	joined(rank int)
	// message tells what a rank has sent. A kindShare comes without its descriptor, and a kindTaken never:
	// those are the host's own business.
	message(rank int, m message)
	// breach tells that a rank has broken the bootstrap protocol, and by what.
	breach(rank int, what string)
	// disconnected tells that a rank's connection has ended, with the error if that is not how one
	// should. Nothing comes from the rank any more. The host's end is closed by hangUp.
	disconnected(rank int, err error)
	// exited tells how a rank's process has ended.
	exited(rank int, ws syscall.WaitStatus)
	// refused tells of a connection that was turned away.
	refused(reason string)
	// failed tells that the host cannot go on.
	failed(err error)
}
