package libmpi_test

import (
	"fmt"
	"log/slog"
	"os"
	"runtime"

	"github.com/aqueduct-go/aqueduct/conduits/mpi"
	"github.com/aqueduct-go/aqueduct/conduits/mpi/libmpi"
	"github.com/aqueduct-go/aqueduct/core"
)

// leaveUnreceived has rank 0 send to rank 1 over ends that are opened one after the other: a short message that is
// received, another for which there is no receive, and over the last end one more that MPI does not send eagerly.
// The first byte of a message is the number of its end. Nothing of a closed end may come to a later one, though
// MPICH gives the number of a freed communicator to the next.
func leaveUnreceived(boot core.Bootstrap) error {
	const short, long, ends = 8, 1 << 20, 3
	buf := make([]byte, long)
	var pin runtime.Pinner
	pin.Pin(&buf[0])
	defer pin.Unpin()
	for end := range byte(ends) {
		t, err := libmpi.Open(os.Getenv(libraryEnv), &mpi.Spec{Boot: boot, Group: []core.Rank{0, 1}, Log: slog.Default()})
		if err != nil {
			return err
		}
		posts := []mpi.Post{{Buf: buf[:short], Peer: 1, Tag: 1}, {Buf: buf[:short], Peer: 1, Tag: 1}}
		switch {
		case boot.Rank() == 1:
			posts = []mpi.Post{{Buf: buf[:short], Peer: 0, Tag: 1, Receive: true}}
		case end == ends-1:
			posts = append(posts, mpi.Post{Buf: buf, Peer: 1, Tag: 2})
			fallthrough
		default:
			buf[0] = end
		}
		done := make([]mpi.Completion, len(posts))
		for ended := 0; ended == 0; runtime.Gosched() {
			if ended, err = t.Progress(posts, done); err != nil {
				return err
			}
			posts = nil
		}
		if buf[0] != end {
			return fmt.Errorf("end %d received what was sent over end %d", end, buf[0])
		}
		if err := t.Close(); err != nil {
			return err
		}
	}
	fmt.Println("good")
	return nil
}
