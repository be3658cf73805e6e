// Testsum runs go test with its arguments and prints the outcome for people, while it comes:
// what failed with its output, tests that take long, a line per package; and at the end what
// was skipped and why, and the totals. Its exit status is 1 if anything failed, or if
// something was skipped for a reason that holds one of the words (or phrases, separated by
// commas) of the environment variable AQ_REQUIRE.
//
// It runs one package more at once than there are CPUs, since tests of processes wait much of their time.
//
// Of the conformance suites it says how many of their combinations of case, kind of job and number of
// ranks were run, and how to run others (see package coretest). Of a flag that is given twice, as
// -timeout by the arguments, go test takes the second.
//
// The variable GO names the go command.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// long is how many seconds a test may take without being mentioned.
const long = 5

// combinations is what a suite says that it runs, see package coretest.
const combinations = "runs %d of %d combinations"

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64 // seconds
}

type key struct{ pkg, test string }

// report is what has been seen so far.
type report struct {
	output         map[key]*strings.Builder // of what has not ended
	skipped        map[string][]string      // by reason
	passed, failed int
	broken         map[string]bool // packages with tests that failed
	ran, all       int             // combinations of suites
}

func main() {
	ok, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}

// run tests and reports whether all is well.
func run(args []string) (ok bool, err error) {
	tool := os.Getenv("GO")
	if tool == "" {
		tool = "go"
	}
	cmd := exec.Command(tool, append([]string{"test", "-count=1", "-timeout=15m", "-json", fmt.Sprint("-p=", runtime.NumCPU()+1)}, args...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	r := report{output: map[key]*strings.Builder{}, skipped: map[string][]string{}, broken: map[string]bool{}}
	bad := r.read(events)
	ended := cmd.Wait()
	ok = r.summary() && ended == nil
	return ok, bad
}

// read takes in events until there are no more.
func (r *report) read(in io.Reader) error {
	for dec := json.NewDecoder(in); ; {
		var e event
		if err := dec.Decode(&e); err == io.EOF {
			return nil
		} else if err != nil {
			io.Copy(io.Discard, in)
			return fmt.Errorf("not the output of go test -json: %w", err)
		}
		r.take(e)
	}
}

func (r *report) take(e event) {
	k := key{e.Package, e.Test}
	switch e.Action {
	case "output":
		if r.output[k] == nil {
			r.output[k] = new(strings.Builder)
		}
		r.output[k].WriteString(e.Output)
		if at := strings.Index(e.Output, combinations[:5]); at >= 0 {
			var ran, all int
			if n, _ := fmt.Sscanf(e.Output[at:], combinations, &ran, &all); n == 2 {
				r.ran, r.all = r.ran+ran, r.all+all
			}
		}
	case "build-output":
		fmt.Print(e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.packageEnds(e)
		} else {
			r.testEnds(e)
		}
		delete(r.output, k)
	}
}

func (r *report) packageEnds(e event) {
	if e.Action != "skip" { // it has no tests
		fmt.Printf("%-5s %s (%.1f s)\n", e.Action, e.Package, e.Elapsed)
	}
	if e.Action != "fail" {
		return
	}
	if !r.broken[e.Package] {
		r.failed++
	}
	for k, o := range r.output { // also of tests that a panic or the time limit has cut off
		if k.pkg == e.Package {
			fmt.Print(o)
			delete(r.output, k)
		}
	}
}

func (r *report) testEnds(e event) {
	o := r.output[key{e.Package, e.Test}]
	switch e.Action {
	case "pass":
		r.passed++
	case "fail":
		r.failed++
		r.broken[e.Package] = true
		fmt.Printf("FAIL  %s %s\n%v", e.Package, e.Test, o)
	case "skip":
		why := reason(o)
		r.skipped[why] = append(r.skipped[why], e.Package[strings.LastIndex(e.Package, "/")+1:]+" "+e.Test)
	}
	if e.Elapsed >= long && !strings.Contains(e.Test, "/") {
		fmt.Printf("      %s %s (%.1f s)\n", e.Package, e.Test, e.Elapsed)
	}
}

// reason extracts what the test said when it skipped.
func reason(o *strings.Builder) string {
	if o == nil {
		return "no reason given"
	}
	var last string
	for line := range strings.Lines(o.String()) {
		if t := strings.TrimSpace(line); t != "" && !strings.HasPrefix(t, "===") && !strings.HasPrefix(t, "---") {
			last = t
		}
	}
	if _, r, ok := strings.Cut(last, ".go:"); ok {
		_, r, _ = strings.Cut(r, ": ")
		return r
	}
	return last
}

// summary prints what was skipped and the totals, and reports whether all is well.
func (r *report) summary() bool {
	n, refused, must := 0, 0, required()
	if len(r.skipped) > 0 {
		fmt.Println("\nskipped:")
	}
	for _, why := range slices.Sorted(maps.Keys(r.skipped)) {
		tests := r.skipped[why]
		n += len(tests)
		mark := ""
		if must != nil && must.MatchString(why) {
			mark, refused = " [required here: a failure]", refused+len(tests)
		}
		fmt.Printf("  %d × %s%s, e.g. %s\n", len(tests), why, mark, tests[0])
	}
	if r.all > 0 {
		fmt.Printf("\nsuites: %d of %d combinations of case, kind of job and ranks", r.ran, r.all)
		if part := os.Getenv("AQ_TEST_PART"); part != "" {
			fmt.Printf(", all pairs and with AQ_TEST_PART=%s a part of the rest", part)
		} else if r.ran < r.all {
			fmt.Print(", each case once; with AQ_TEST_PART=K/M all pairs and the K-th of M parts of the rest, by make test-full all")
		}
		fmt.Println()
	}
	fmt.Printf("\n%d passed, %d failed, %d skipped\n", r.passed, r.failed+refused, n-refused)
	return r.failed+refused == 0
}

// required returns the expression for reasons that hold a word of AQ_REQUIRE, or nil.
func required() *regexp.Regexp {
	var words []string
	for w := range strings.SplitSeq(os.Getenv("AQ_REQUIRE"), ",") {
		if w = strings.TrimSpace(w); w != "" {
			words = append(words, regexp.QuoteMeta(w))
		}
	}
	if words == nil {
		return nil
	}
	return regexp.MustCompile(`(^|\W)(` + strings.Join(words, "|") + `)(\W|$)`)
}
