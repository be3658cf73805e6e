package pmi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// fake is a launcher's side: a store and a barrier of so many ranks.
type fake struct {
	t       testing.TB
	maxes   string                                       // what it says of its limits
	twist   func(rank int, request, reply string) string // may change replies; nil: does not
	mu      sync.Mutex
	values  map[string]string
	waiting []func() // let ranks out of the barrier
	size    int
	ended   int      // ranks that have finalised
	told    []string // requests without a reply
}

func newFake(t testing.TB, size int) *fake {
	return &fake{t: t, size: size, values: map[string]string{}, maxes: "kvsname_max=256 keylen_max=64 vallen_max=1024"}
}

// rank returns a rank's connection.
func (f *fake) rank(r int) *server {
	ours, theirs := net.Pipe()
	go f.serve(r, ours)
	f.t.Cleanup(func() { ours.Close(); theirs.Close() })
	return serverOn(theirs)
}

func (f *fake) serve(r int, c net.Conn) {
	in := bufio.NewScanner(c)
	for in.Scan() {
		request := in.Text()
		if len(request) >= 1024 {
			f.t.Errorf("a request of %d bytes", len(request))
		}
		say := func(reply string) {
			if f.twist != nil {
				reply = f.twist(r, request, reply+"\n")
			} else {
				reply += "\n"
			}
			io.WriteString(c, reply) // an error means that the rank has gone
			if !strings.HasSuffix(reply, "\n") {
				c.Close()
			}
		}
		f.carryOut(request, say)
	}
}

func (f *fake) carryOut(request string, say func(string)) {
	q, err := parse(request)
	if err != nil {
		f.t.Errorf("request %q: %v", request, err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch q.cmd {
	case "init":
		say("cmd=response_to_init pmi_version=" + q.attrs["pmi_version"] + " pmi_subversion=1 rc=0")
	case "get_maxes":
		say("cmd=maxes " + f.maxes)
	case "get_my_kvsname":
		say("cmd=my_kvsname kvsname=kvs_1_0")
	case "put":
		k := q.attrs["key"]
		if _, again := f.values[k]; again || len(k) >= 64 {
			say("cmd=put_result rc=-1 msg=duplicate_key" + k)
			return
		}
		f.values[k] = q.attrs["value"]
		say("cmd=put_result rc=0 msg=success")
	case "get":
		if v, ok := f.values[q.attrs["key"]]; ok {
			say("cmd=get_result rc=0 msg=success value=" + v)
		} else {
			say(fmt.Sprintf("cmd=get_result rc=-1 msg=key_%s_not_found value=unknown", q.attrs["key"]))
		}
	case "barrier_in":
		if f.waiting = append(f.waiting, func() { say("cmd=barrier_out") }); len(f.waiting) == f.size {
			for _, out := range f.waiting {
				out()
			}
			f.waiting = nil
		}
	case "finalize":
		f.ended++
		say("cmd=finalize_ack")
	default:
		f.told = append(f.told, request)
	}
}

// joinAt makes a rank of a job of so many of the launcher at the other end, on a host of that identity.
func joinAt(s *server, rank, size int, identity string) (*bootstrap, error) {
	st, err := openKVS(s)
	if err != nil {
		return nil, err
	}
	return (&membership{store: st, rank: rank, size: size}).join(identity)
}

// job has every rank of a job do something, on hosts of those identities.
func (f *fake) job(identities []string, do func(b *bootstrap) error) []error {
	errs := make([]error, f.size)
	var all sync.WaitGroup
	for r := range f.size {
		s := f.rank(r)
		all.Go(func() {
			b, err := joinAt(s, r, f.size, identities[r])
			if err == nil {
				err = do(b)
			}
			if errs[r] = err; err != nil {
				s.conn.Close()
			}
		})
	}
	all.Wait()
	return errs
}
