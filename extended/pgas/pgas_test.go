package pgas_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/pgas"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/aqueduct-go/aqueduct/spawner/spawntest"

	_ "github.com/aqueduct-go/aqueduct/conduits/loopback"
	_ "github.com/aqueduct-go/aqueduct/conduits/sci"
)

func TestMain(m *testing.M) {
	coretest.RankMain(spawner.Connect, all()...)
	os.Exit(m.Run())
}

// debug has a case run with debug checks, awake with waits that do not sleep, which may
// allocate.
func debug(cfg *core.Config)   { cfg.Debug = true }
func lenient(cfg *core.Config) { cfg.Debug = false }
func awake(cfg *core.Config)   { cfg.Sleep = time.Minute }

var cases = []coretest.Case{
	{Name: "value/sizes", Rule: "values of every size arrive as they are, at any rank", Ranks: []int{1, 3}, Body: valueSizes},
	{Name: "value/nonblocking", Rule: "non-blocking and implicit accesses are complete when synchronised", Ranks: []int{1, 2}, Body: valueNonblocking},
	{Name: "value/whole", Rule: "a value of a word's size that is reached directly is read as one that was written, never as parts of two", Ranks: []int{2}, Needs: coretest.Live | coretest.Plain, Body: valueWhole},
	{Name: "value/debug", Rule: "accesses are what they are under debug checks too", Ranks: []int{1, 2}, Body: valueNonblocking, Config: debug},
	{Name: "value/refused", Rule: "in debug mode accesses are refused in a handler, also where memory is reached directly", Ranks: []int{1, 2}, Body: valueRefused, Config: debug,
		Want: func(o *coretest.Outcome) error {
			if o.Err == nil {
				return fmt.Errorf("the job ended well")
			}
			return o.Says("called from the handler")
		}},
	{Name: "value/allocations", Rule: "accesses, reductions and array accesses allocate nothing", Ranks: []int{1, 2}, Needs: coretest.Plain, Body: valueAllocations, Config: awake},
	{Name: "ptr/outside", Rule: "nil and what lies outside a segment are errors, and not local", Ranks: []int{2}, Body: ptrOutside},
	{Name: "heap/symmetric", Rule: "equal calls get equal offsets, aligned and apart; freed memory is given out again", Ranks: []int{1, 3}, Body: heapSymmetric, Config: debug},
	{Name: "heap/full", Rule: "a full heap says who wanted what, what is left and what to do", Ranks: []int{2}, Body: heapFull},
	{Name: "heap/misuse", Rule: "a pointer that was not allocated, or freed before, is refused", Ranks: []int{2}, Body: heapMisuse},
	{Name: "heap/overlap", Rule: "no two heaps of a rank have a byte in common; a closed one makes room", Ranks: []int{1, 2}, Body: heapOverlap, Config: lenient},
	{Name: "heap/disagree", Rule: "in debug mode members that ask for different things are told both", Ranks: []int{2}, Body: heapDisagree, Config: debug,
		Want: func(o *coretest.Outcome) error {
			if o.Err == nil {
				return fmt.Errorf("the job ended well")
			}
			return o.Says("Alloc of 10 elements of 8 bytes", "Alloc of 11 elements of 8 bytes")
		}},
	{Name: "array/layout", Rule: "every element has one owner, at its place, for any length and block", Ranks: []int{1, 2, 3, 4}, Body: arrayLayout},
	{Name: "array/ranges", Rule: "ranges go to and come from all owners they touch", Ranks: []int{1, 3}, Body: arrayRanges},
	{Name: "array/teams", Rule: "an array of a team lies on its members in the team's order", Ranks: []int{1, 5}, Body: arrayTeams},
	{Name: "array/misuse", Rule: "what is outside an array, or comes after its end, is refused, or has the value that says so", Ranks: []int{2}, Body: arrayMisuse, Config: lenient},
	{Name: "atomic/names", Rule: "the methods named after operations do them, on the element that a pointer names", Ranks: []int{1, 2, 3}, Body: atomicNames},
	{Name: "atomic/refused", Rule: "a pointer to no member of the domain's team is refused", Ranks: []int{2}, Body: atomicRefused, Config: lenient},
	{Name: "reduce/operators", Rule: "every operator gives every member what a loop gives", Ranks: []int{1, 3, 4}, Body: reduceOperators},
	{Name: "reduce/ordered", Rule: "an operator that does not commute combines in order of rank", Ranks: []int{1, 2, 5}, Body: reduceOrdered},
	{Name: "collective/move", Rule: "broadcasts and all-gathers move elements of any type", Ranks: []int{1, 3}, Body: collectiveMove},
}

func all() []*coretest.Case {
	list := make([]*coretest.Case, len(cases))
	for i := range cases {
		list[i] = &cases[i]
	}
	return list
}

// TestJobs runs the cases over direct reach and over messages, live and in virtual time.
func TestJobs(t *testing.T) {
	coretest.Suite(t, all(), []coretest.Kind{
		{Name: "sci/processes/reach", Launcher: spawntest.Processes, Config: core.Config{Conduit: "sci"}},
		{Name: "sci/processes/messages", Launcher: spawntest.Processes, Config: core.Config{Conduit: "sci", NoReach: true, Threads: core.Single}},
		{Name: "sci/goroutines/reach", Launcher: coretest.Goroutines, Config: core.Config{Conduit: "sci", Threads: core.Single}},
		{Name: "loopback/goroutines", Launcher: coretest.Goroutines, Config: core.Config{Conduit: "loopback"}, Factors: "loopback goroutines messages"},
		{Name: "loopback/model", Launcher: coretest.Model, Config: core.Config{Conduit: "loopback"}, Factors: "loopback model messages"},
	}...)
}

func attach(t *coretest.T) (*extended.Endpoint, *pgas.Heap, error) {
	ep, err := extended.Attach(t.Job, core.AttachSpec{Segment: "1MB"})
	if err != nil {
		return nil, nil, err
	}
	heap, err := pgas.NewHeap(ep.World())
	return ep, heap, err
}

// says reports what the error lacks of the words.
func says(err error, words ...string) error {
	if err == nil {
		return fmt.Errorf("no error; want one that says %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			return fmt.Errorf("%q does not say %q", err, w)
		}
	}
	return nil
}
