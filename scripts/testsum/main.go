// Testsum reads the output of go test -json and prints it for people: the output of what
// failed, a line per package, and at the end what was skipped and why, and the totals. It
// exits with 1 if anything failed, or if something was skipped for a reason that names a
// word of the environment variable AQ_REQUIRE.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

type key struct{ pkg, test string }

func main() {
	os.Exit(run())
}

func run() int {
	output := map[key]*strings.Builder{}
	skipped := map[string][]string{} // by reason
	var passed, failed int
	in := bufio.NewReader(os.Stdin)
	dec := json.NewDecoder(in)
	for dec.More() {
		var e event
		if err := dec.Decode(&e); err != nil {
			fmt.Fprintln(os.Stderr, "testsum: not the output of go test -json:", err)
			return 1
		}
		k := key{e.Package, e.Test}
		switch e.Action {
		case "output", "build-output":
			if output[k] == nil {
				output[k] = new(strings.Builder)
			}
			output[k].WriteString(e.Output)
		case "build-fail":
			failed++
			for _, o := range output {
				fmt.Print(o.String())
			}
		case "pass", "fail", "skip":
			if e.Test == "" {
				fmt.Printf("%-5s %s (%.1f s)\n", e.Action, e.Package, e.Elapsed)
				if e.Action == "fail" {
					failed++
					show(output[k])
				}
				continue
			}
			switch e.Action {
			case "pass":
				passed++
			case "fail":
				failed++
				fmt.Printf("FAIL  %s %s\n", e.Package, e.Test)
				show(output[k])
			case "skip":
				r := reason(output[k])
				skipped[r] = append(skipped[r], e.Package[strings.LastIndex(e.Package, "/")+1:]+" "+e.Test)
			}
			delete(output, k)
		}
	}
	return summary(passed, failed, skipped)
}

func show(o *strings.Builder) {
	if o != nil {
		fmt.Print(o.String())
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

func summary(passed, failed int, skipped map[string][]string) int {
	n, refused := 0, 0
	if len(skipped) > 0 {
		fmt.Println("\nskipped:")
	}
	for _, r := range slices.Sorted(maps.Keys(skipped)) {
		tests := skipped[r]
		n += len(tests)
		mark := ""
		if required(r) {
			mark, refused = " [required here: a failure]", refused+len(tests)
		}
		fmt.Printf("  %d × %s%s, e.g. %s\n", len(tests), r, mark, tests[0])
	}
	fmt.Printf("\n%d passed, %d failed, %d skipped\n", passed, failed+refused, n-refused)
	if failed+refused > 0 {
		return 1
	}
	return 0
}

// required reports whether AQ_REQUIRE names a word of the reason.
func required(reason string) bool {
	for w := range strings.SplitSeq(os.Getenv("AQ_REQUIRE"), ",") {
		if w = strings.TrimSpace(w); w != "" && strings.Contains(reason, w) {
			return true
		}
	}
	return false
}
