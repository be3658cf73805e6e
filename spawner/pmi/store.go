package pmi

// store is the launcher as a rank sees it: it keeps what ranks publish until the job ends, has a barrier, and ends the job.
type store interface {
	// begin begins a round, in which ranks publish once at most, then fence, then read. All ranks call it.
	begin()
	// publish gives what a rank, the caller, has for this round: 1 to maxPublished bytes.
	publish(rank int, b []byte) error
	// fence returns when all ranks have called it.
	fence() error
	// read returns what a rank has published in this round before the fence.
	read(rank int) ([]byte, error)
	// wait blocks until the launcher is lost, or finish has been called, and returns an error then.
	wait() error
	// abort asks the launcher to end the job with a status. It may return before that has happened.
	abort(status int, reason string) error
	// finish says that this rank has finished in good order. No call follows it.
	finish() error
	// drop ends the connection to the launcher of a rank that cannot take part: that has not finished in good order. No call follows it.
	drop()
}

// maxPublished is the most bytes that a rank may publish in a round.
const maxPublished = 512 << 20
