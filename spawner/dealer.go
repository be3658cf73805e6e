package spawner

// inFlight bounds the descriptors that are on their way to the ranks: above RLIMIT_NOFILE,
// of which 1024 is the smallest usual value, the kernel refuses to queue more for an
// unprivileged user (unix(7), ETOOMANYREFS).
const inFlight = 512

// batch is a part of the descriptors, to be passed to one rank in one message.
type batch struct{ rank, first, count int }

// dealer says in which portions the descriptors of a completed ShareFD go to the ranks. It
// is pure state.
type dealer struct {
	fds   []int
	next  int // portions handed out
	taken int // portions received
}

// portions returns how many batches a rank gets.
func (d *dealer) portions() int { return (len(d.fds) + maxFDs - 1) / maxFDs }

// deal takes charge of the descriptors and returns the first batches.
func (d *dealer) deal(fds []int) []batch {
	*d = dealer{fds: fds}
	var first []batch
	for n := max(1, inFlight/min(len(fds), maxFDs)); n > 0; n-- {
		if b, ok := d.another(); ok {
			first = append(first, b)
		}
	}
	return first
}

// another returns a batch that has not been handed out.
func (d *dealer) another() (b batch, ok bool) {
	per := d.portions()
	if d.next == per*len(d.fds) { // every one of n ranks gets all n descriptors
		return b, false
	}
	b.rank, b.first = d.next/per, d.next%per*maxFDs
	b.count = min(maxFDs, len(d.fds)-b.first)
	d.next++
	return b, true
}

// took notes that a rank has received a batch and reports whether all have received all;
// the descriptors then are no longer needed. It fails if nothing was on its way.
func (d *dealer) took() (done, ok bool) {
	if d.taken == d.next {
		return false, false
	}
	d.taken++
	return d.taken == d.portions()*len(d.fds), true
}
