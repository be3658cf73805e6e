package coretest

var finalCases = []Case{{
	Name:  "final/one-returns",
	Rule:  "a rank that returns is in none of its peers' barriers: the job fails and says who is where",
	Ranks: []int{2, 3, 5}, Want: endsWith(1, "rank 0 has returned while rank "),
	Body: func(t *T) error { return returnOrMeet(t, t.Rank() == 0) },
}, {
	Name:  "final/one-meets",
	Rule:  "the same when only one rank is in a barrier",
	Ranks: []int{2, 3, 5}, Want: endsWith(1, "has returned while rank 1 is in a barrier"),
	Body: func(t *T) error { return returnOrMeet(t, t.Rank() != 1) },
}, {
	Name:  "final/error-ignored",
	Rule:  "the same when the error of the barrier is ignored",
	Ranks: []int{2, 3}, Want: endsWith(1, "has returned while rank 1 is in a barrier"),
	Body: func(t *T) error {
		_ = returnOrMeet(t, t.Rank() != 1)
		return nil
	},
}}

// returnOrMeet has all ranks meet in some barriers, of which none hides a mismatch, and
// then return or enter another.
func returnOrMeet(t *T, leave bool) error {
	ep, err := attach(t)
	if err != nil {
		return err
	}
	for range 3 {
		if err := ep.Barrier(); err != nil {
			return err
		}
	}
	if leave {
		return nil
	}
	return ep.Barrier()
}
