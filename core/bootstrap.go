package core

import "os"

// Bootstrap is how the ranks of a job find each other and end together. A spawner, a
// batch system's PMI or MPI implements it; no conduit knows which it got.
//
// The collective calls (Exchange, Barrier and those of the optional interfaces) are made
// by every rank of the job in the same order. They block without polling any conduit, and
// return an error as soon as the job has failed.
type Bootstrap interface {
	// Rank is the caller's number in the job.
	Rank() Rank
	// Size is the number of ranks of the job, fixed for its life.
	Size() int
	// Local returns the ranks on the caller's host, ascending, the caller included. The
	// slice is not to be changed: ranks of one process may get the same.
	Local() []Rank
	// Host returns the number of the host of a rank of the job. Hosts are numbered from 0 in the
	// order of their lowest ranks, alike for every caller.
	Host(Rank) int
	// Exchange gives b to every rank and returns what each gave, indexed by rank. The
	// result is not to be changed: ranks of one process may get the same. A bootstrap may
	// limit b, to no less than 64 KiB.
	Exchange(b []byte) ([][]byte, error)
	// Barrier returns when every rank has called it.
	Barrier() error
	// Abort ends the whole job with the status (first caller wins, non-zero beats
	// zero) and a reason for people to read. It returns; the caller then leaves.
	Abort(status int, reason string)
	// Done yields the job's failure, once, when the job has failed or the connection to
	// whatever started it is lost; it is closed when the job is over.
	Done() <-chan error
	// Close says that this rank has finished in good order. No call follows it.
	Close() error
}

// DescriptorSharer is implemented by a Bootstrap that can pass descriptors among the
// ranks of a host.
type DescriptorSharer interface {
	// ShareFD gives a duplicate of fd to every rank and returns one of each rank's,
	// indexed by rank (-1 for ranks of other hosts). Collective. The results belong to
	// the caller, who closes them; fd stays the caller's.
	ShareFD(fd int) ([]int, error)
}

// ProcessSharer is implemented by a Bootstrap whose ranks are goroutines or coroutines of
// one process.
type ProcessSharer interface {
	// Share returns the value that the first caller's make returned for this key: the
	// same for every rank of the job. Not collective, does not block; make may not call
	// the bootstrap.
	Share(key string, make func() any) any
}

// Surveyor is implemented by a Bootstrap that can ask all ranks of the job where they are.
type Surveyor interface {
	// Locate gives the function by which the rank says where it is. Any goroutine may call that, one
	// at a time; it takes a second at most. Locate is called once.
	Locate(where func() Place)
	// Stalled says that a wait of this rank takes long. All ranks are then asked where they are, and
	// Survey judges that, as far as Survey.Wanted is true. It does not wait for that.
	Stalled(Stall)
}

// Recorder is implemented by a Bootstrap that takes what is recorded of ranks, to wherever all of it is wanted.
type Recorder interface {
	// Record hands over this rank's record (package core/record), once, before Close, or when the job has failed. It returns when
	// the record is on its way. It returns false if nobody here takes records.
	Record([]byte) (taken bool)
}

// Exiter is implemented by a Bootstrap whose launcher learns how a rank has failed only if its
// process leaves in a way of its own, rather than by os.Exit.
type Exiter interface {
	// Exit ends the process with the status, and does not return.
	Exit(status int)
}

// ExitOf returns how the process of a rank leaves: os.Exit, unless its bootstrap wants it
// otherwise.
func ExitOf(boot Bootstrap) func(status int) {
	if x, ok := boot.(Exiter); ok {
		return x.Exit
	}
	return os.Exit
}
