package compare_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/am"
	"github.com/aqueduct-go/aqueduct/bench/coll"
	"github.com/aqueduct-go/aqueduct/bench/compare"
	"github.com/aqueduct-go/aqueduct/bench/floor"
	"github.com/aqueduct-go/aqueduct/bench/kernel"
	"github.com/aqueduct-go/aqueduct/bench/rma"
	"github.com/aqueduct-go/aqueduct/bench/runner"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/spawner"
)

func TestMain(m *testing.M) {
	am.RankMain()
	rma.RankMain()
	coll.RankMain()
	kernel.RankMain()
	os.Exit(m.Run())
}

// tiny are a model and a live conduit, and how little of them is measured.
func tiny() ([]compare.Subject, *compare.Extent) {
	e := compare.Quick
	e.Name, e.Ops, e.Sizes, e.Ranks = "tiny", []string{am.Flood, "put", "barrier", am.Startup}, []int{8}, []int{2}
	e.Samples, e.Weight, e.Limit, e.Budget = 2, 0.001, time.Hour, time.Hour
	live := runner.Plan{Conduit: "sci", Threads: core.Single}
	model := runner.Plan{Conduit: "loopback", Threads: core.Single, Mode: spawner.Modelled}
	return []compare.Subject{{Name: "sci", Plan: live}, {Name: "loopback", Plan: model}}, &e
}

// tasksOf returns the tasks, of which none is left out.
func tasksOf(t *testing.T, subjects []compare.Subject, e *compare.Extent) []compare.Task {
	t.Helper()
	tasks, missing := compare.Tasks(subjects, e)
	if len(missing) > 0 {
		t.Error(missing)
	}
	return tasks
}

// TestFits wants no more ranks of a model than its machine has room for, and that said once.
func TestFits(t *testing.T) {
	_, e := tiny()
	e.Ops, e.Ranks = []string{"barrier"}, []int{2, 4, 8}
	hpam := compare.Subject{Name: "hpam", Plan: runner.Plan{Conduit: "hpam", Mode: spawner.Modelled}}
	tasks, missing := compare.Tasks([]compare.Subject{hpam}, e)
	if len(tasks) != 2 || tasks[1].Ranks != 4 || len(missing) != 1 || !strings.Contains(missing[0], "of 8 ranks: ") {
		t.Errorf("%d tasks, left out %q", len(tasks), missing)
	}
}

// TestInterrupted ends a comparison after its third task, and continues it by the file: what is then there is what one
// that was not interrupted has, each once, and no task is carried out twice.
func TestInterrupted(t *testing.T) {
	subjects, e := tiny()
	tasks := tasksOf(t, subjects, e)
	path := filepath.Join(t.TempDir(), "lines")
	store, err := compare.NewStore(path)
	if err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	err = compare.Measure(ctx, tasks, store, compare.Watch{Begin: func(i, n int, _ time.Duration, _ *compare.Task) {
		if n != len(tasks) {
			t.Errorf("%d tasks, want %d", n, len(tasks))
		}
		if i == 4 {
			cancel(stop)
		}
	}})
	if err = errors.Join(err, store.Close()); !errors.Is(err, stop) {
		t.Fatalf("error %v, want that of the context", err)
	}
	first := readLines(t, path)
	if len(first) != 3 { // of the model flood, put and barrier
		t.Errorf("%d lines of three tasks with one result each", len(first))
	}

	// The last line of the last task is torn, so that task is to be repeated.
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)-10], 0o644); err != nil {
		t.Fatal(err)
	}
	if store, err = compare.Resume(path, tasks); err != nil {
		t.Fatal(err)
	}
	var carried []string
	err = compare.Measure(t.Context(), tasks, store, compare.Watch{Begin: func(_, _ int, _ time.Duration, task *compare.Task) {
		carried = append(carried, task.Name())
	}})
	if err = errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range tasks {
		want = append(want, tasks[i].Name())
	}
	if !slices.Equal(carried, want[2:]) {
		t.Errorf("continued with %q, want %q", carried, want[2:])
	}
	// Of the model and of each of two live rounds: three results, and live the start.
	count := map[string]int{}
	for _, l := range readLines(t, path) {
		count[l.Mode+" "+l.Params["op"]]++
	}
	for key, n := range map[string]int{
		"modelled flood": 1, "modelled put": 1, "modelled barrier": 1, "live flood": 2, "live put": 2, "live barrier": 2, "live startup": 2,
	} {
		if count[key] != n {
			t.Errorf("%d lines of %s, want %d", count[key], key, n)
		}
	}

	// Other options do not continue it.
	e.Name = "other"
	if _, err := compare.Resume(path, tasksOf(t, subjects, e)); err == nil || !strings.Contains(err.Error(), "options") {
		t.Errorf("continued with other options: %v", err)
	}
	if _, err := compare.NewStore(path); err == nil {
		t.Error("a file that was there is written over")
	}
}

func readLines(t *testing.T, path string) []*bench.Line {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, err := bench.ReadLines(file)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestFails wants the others measured when a conduit fails, and the failure as the error.
func TestFails(t *testing.T) {
	subjects, e := tiny()
	e.Ops, e.Rounds = []string{"barrier"}, 1
	bad := subjects[1]
	bad.Name, bad.Settings = "bad", map[string]string{"none": "1"}
	store, err := compare.NewStore("")
	if err != nil {
		t.Fatal(err)
	}
	err = compare.Measure(t.Context(), tasksOf(t, []compare.Subject{bad, subjects[1]}, e), store, compare.Watch{})
	if err == nil || !strings.Contains(err.Error(), "bad") || len(store.Lines) != 1 {
		t.Errorf("error %v and %d lines", err, len(store.Lines))
	}
}

// TestBudget wants nothing begun when the time is over, and that said.
func TestBudget(t *testing.T) {
	subjects, e := tiny()
	e.Budget = 0
	store, err := compare.NewStore("")
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	err = compare.Measure(t.Context(), tasksOf(t, subjects, e), store, compare.Watch{Note: func(s string) { notes = append(notes, s) }})
	if err != nil || len(store.Lines) != 0 || len(notes) != 2 || !strings.Contains(notes[0], "the models behind it") || !strings.Contains(notes[1], "what comes behind it") {
		t.Errorf("error %v, %d lines, notes %q", err, len(store.Lines), notes)
	}
}

// TestLimit wants a task that takes too long ended and that said, and no failure: the machine is slow, and nothing is wrong.
func TestLimit(t *testing.T) {
	subjects, e := tiny()
	e.Limit, e.Ops, e.Rounds = time.Nanosecond, []string{"put"}, 1
	store, err := compare.NewStore("")
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	err = compare.Measure(t.Context(), tasksOf(t, subjects, e), store, compare.Watch{Note: func(s string) { notes = append(notes, s) }})
	slow := 0
	for _, n := range notes {
		if strings.Contains(n, "not all was measured") {
			slow++
		}
	}
	if err != nil || slow != 2 {
		t.Errorf("error %v, notes %q", err, notes)
	}
}

// TestReferences measures a floor beside a conduit, and wants each sample's ratio to the floor's median of the same round.
func TestReferences(t *testing.T) {
	cpus, err := runner.CPUs()
	if err != nil || len(cpus) < 2 {
		t.Skipf("two CPUs are wanted: %v, %v", cpus, err)
	}
	if _, err := floor.Build(t.Context()); errors.Is(err, floor.ErrNoCompiler) {
		t.Skip(err)
	}
	subjects, e := tiny()
	e.Ops, e.Peers = []string{"put", "fetchadd"}, 0 // floors of one process each
	subjects[0].CPUs = cpus
	all := append(compare.Beside(subjects[:1], cpus), subjects[0])
	store, err := compare.NewStore("")
	if err != nil {
		t.Fatal(err)
	}
	tasks := tasksOf(t, all, e)
	if err := compare.Measure(t.Context(), tasks, store, compare.Watch{}); err != nil {
		t.Fatal(err)
	}
	found := 0
	for i := range tasks {
		if tasks[i].Subject.References() {
			continue
		}
		for _, l := range store.LinesOf(&tasks[i]) {
			for _, ref := range store.Lines {
				if !strings.Contains(ref.Task, "floors") || !strings.HasSuffix(ref.Task, l.Task[len(l.Task)-len("round 1"):]) || ref.Params["op"] != l.Params["op"] {
					continue
				}
				found++
				for _, s := range l.Samples {
					want := s[bench.NsPerOp].(float64) / ref.Summary[bench.NsPerOp].Median
					if got, _ := s["x-floor"].(float64); got < 0.999*want || got > 1.001*want {
						t.Errorf("%s: ratio %v, want %v", l.Name, s["x-floor"], want)
					}
				}
			}
		}
	}
	if found != 2*e.Rounds {
		t.Errorf("%d results beside a floor, want %d", found, 2*e.Rounds)
	}
	var out strings.Builder
	if err := compare.Tables(&out, store.Lines); err != nil || !strings.Contains(out.String(), "floor:shared-memory") || !strings.Contains(out.String(), " ×") {
		t.Errorf("%v:\n%s", err, &out)
	}
}
