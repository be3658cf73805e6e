package spawner_test

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/spawner"
	"golang.org/x/sys/unix"
)

func tagged(s *spawner.Spec) { s.TagOutput = true }

// checkLines checks that out consists of the lines that n ranks in role "lines" write to
// the stream, whole, and each rank's in order.
func checkLines(t *testing.T, stream string, n int, out string, tag bool) {
	t.Helper()
	next := make([]int, n)
	for line := range strings.Lines(out) {
		text := strings.TrimSuffix(line, "\n")
		who := 0
		if _, err := fmt.Sscanf(strings.TrimPrefix(text, fmt.Sprintf("[%d] ", tagOf(text))), stream+" %d ", &who); err != nil {
			t.Fatalf("line %.60q: %v", line, err)
		}
		want := lineText(stream, who, next[who])
		if tag {
			want = fmt.Sprintf("[%d] %s", who, want)
		}
		if text != want {
			t.Fatalf("line %.80q, want %.80q", text, want)
		}
		next[who]++
	}
	for r, lines := range next {
		if lines != lineCount {
			t.Errorf("%d lines of rank %d, want %d", lines, r, lineCount)
		}
	}
}

// tagOf returns the number in the tag a line begins with, or -1.
func tagOf(line string) int {
	if m := regexp.MustCompile(`^\[(\d+)\] `).FindStringSubmatch(line); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return -1
}

func TestLinesStayWhole(t *testing.T) {
	defer spawner.SetLineWait(time.Hour)() // ranks stop within lines, for as long as the machine has them
	for _, tag := range []bool{false, true} {
		t.Run(fmt.Sprintf("tagged=%v", tag), func(t *testing.T) {
			const n = 6
			dir := filepath.Join(t.TempDir(), "made", "for", "it")
			j := start(t, "lines", n, func(s *spawner.Spec) { s.TagOutput, s.OutputDir = tag, dir })
			j.finish(0)
			checkLines(t, "stdout", n, j.out.String(), tag)
			checkLines(t, "stderr", n, j.err.String(), tag)
			for r := range n {
				for suffix, stream := range map[string]string{"out": "stdout", "err": "stderr"} {
					got, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("rank.%d.%s", r, suffix)))
					if err != nil {
						t.Fatal(err)
					}
					var want strings.Builder
					for i := range lineCount {
						fmt.Fprintln(&want, lineText(stream, r, i))
					}
					if string(got) != want.String() {
						t.Errorf("the %s file of rank %d differs from what it wrote", suffix, r)
					}
				}
			}
		})
	}
}

// Both streams in one place: lines of one must not cut those of the other.
func TestStandardErrorJoinedToOutput(t *testing.T) {
	defer spawner.SetLineWait(time.Hour)()
	j := start(t, "lines", 3, func(s *spawner.Spec) { s.Stderr = s.Stdout })
	j.finish(0)
	var out, errs strings.Builder
	for line := range strings.Lines(j.out.String()) {
		if strings.HasPrefix(line, "stderr") {
			errs.WriteString(line)
		} else {
			out.WriteString(line)
		}
	}
	checkLines(t, "stdout", 3, out.String(), false)
	checkLines(t, "stderr", 3, errs.String(), false)
}

func TestLongLineOfOneRankIsUntouched(t *testing.T) {
	for _, tag := range []string{"", "[0] "} {
		j := start(t, "longline", 1, func(s *spawner.Spec) { s.TagOutput = tag != "" })
		j.finish(0)
		if want := tag + strings.Repeat("0", 300_000) + "\n"; j.out.String() != want {
			t.Errorf("tag %q: a long line came out changed, %d bytes instead of %d", tag, len(j.out.String()), len(want))
		}
	}
}

// Long lines of several ranks may be cut, but no line holds bytes of two ranks.
func TestLongLinesAreNotMixed(t *testing.T) {
	j := start(t, "longline", 3, tagged)
	j.finish(0)
	count := make(map[byte]int)
	for line := range strings.Lines(j.out.String()) {
		r := tagOf(line)
		body := strings.TrimSuffix(strings.TrimPrefix(line, fmt.Sprintf("[%d] ", r)), "\n")
		if r < 0 || strings.Trim(body, strconv.Itoa(r)) != "" {
			t.Fatalf("line of rank %d: %.60q", r, line)
		}
		count[byte(r)] += len(body)
	}
	for r := range byte(3) {
		if count[r] != 300_000 {
			t.Errorf("%d bytes of rank %d", count[r], r)
		}
	}
}

func TestPartialLastLine(t *testing.T) {
	j := start(t, "partial", 2, tagged)
	j.finish(0)
	for r := range 2 {
		if want := fmt.Sprintf("[%d] no end of line from %d\n", r, r); !strings.Contains(j.out.String(), want) {
			t.Errorf("no %q in %q", want, j.out)
		}
	}
	j = start(t, "partial", 1)
	j.finish(0)
	if got := j.out.String(); got != "no end of line from 0" {
		t.Errorf("untagged output %q is not what the rank wrote", got)
	}
}

// Every line has the time, then its tag, be it a rank's or the launcher's own, and an unfinished one an end.
func TestTimestamps(t *testing.T) {
	for _, tag := range []string{"", `\[\d\] `} {
		before := time.Now()
		j := start(t, "", 2, shell(`echo one; echo two; printf three`), func(s *spawner.Spec) {
			s.Timestamps, s.TagOutput, s.Verbose = true, tag != "", true
		})
		j.finish(0)
		lines := strings.Split(j.out.String(), "\n")
		if len(lines) != 7 {
			t.Errorf("%d lines, want 6: %q", len(lines)-1, lines)
		}
		form := regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) ` + tag + `(one|two|three)$`)
		for _, line := range lines[:len(lines)-1] {
			m := form.FindStringSubmatch(line)
			if m == nil {
				t.Errorf("line %q", line)
				continue
			}
			if at, err := time.Parse(time.RFC3339, m[1]); err != nil || at.Before(before.Truncate(time.Millisecond)) || at.After(time.Now()) {
				t.Errorf("line %q is not of now: %v", line, err)
			}
		}
		if !regexp.MustCompile(`(?m)^\d{4}\S{20} aqueduct: rank 1 is process `).MatchString(j.err.String()) {
			t.Errorf("messages %q", j.err)
		}
	}
}

// brokenWriter fails after some bytes.
type brokenWriter struct {
	left int
	err  error // nil: the disk is full
}

func (w *brokenWriter) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, cmp.Or(w.err, errors.New("the disk is full"))
	}
	return len(b), nil
}

func TestFailingOutputEndsTheJob(t *testing.T) {
	j := start(t, "", 2, shell(`while :; do echo a line; done`), func(s *spawner.Spec) { s.Stdout = &brokenWriter{left: 1000} })
	j.finish(125)
	j.reported("writing the job's output failed: standard output: the disk is full")
}

// A reader that goes away ends the job as SIGPIPE ends a program: without a message, also when the
// ranks have ended well. A rank that failed before counts.
func TestReaderGoesAway(t *testing.T) {
	gone := &os.PathError{Op: "write", Path: "|1", Err: unix.EPIPE}
	for script, status := range map[string]int{`while :; do echo a line; done`: 141, `echo a line`: 141, `exec >&-; exit 3`: 3} {
		j := start(t, "", 2, shell(script), func(s *spawner.Spec) { s.Stdout = &brokenWriter{left: 5, err: gone} })
		j.finish(status)
		if said := j.err.String(); status == 141 && said != "" {
			t.Errorf("%s: messages:\n%s", script, said)
		}
	}
}

// Output that is lost when the ranks have ended well fails the job.
func TestLostOutput(t *testing.T) {
	dir := t.TempDir()
	for name, edit := range map[string]func(*spawner.Spec){
		"writer": func(s *spawner.Spec) { s.Stdout = &brokenWriter{left: 5} },
		"errors": func(s *spawner.Spec) { s.Stderr = &brokenWriter{left: 5} },
		"file":   func(s *spawner.Spec) { s.OutputDir = dir },
	} {
		if err := os.Symlink("/dev/full", filepath.Join(dir, "rank.1.out")); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			for range 10 {
				j := start(t, "", 2, shell(`echo text of $AQUEDUCT_RANK; echo more >&2`), edit)
				j.finish(125)
				if name != "errors" {
					j.reported("writing the job's output failed: ")
				}
			}
		})
	}
}

// stuckWriter does not return from Write until it is released.
type stuckWriter chan struct{}

func (w stuckWriter) Write(b []byte) (int, error) {
	<-w
	return len(b), nil
}

// Output that nobody takes does not hold up a job that was forced to end.
func TestStuckOutput(t *testing.T) {
	const ends, runs = `echo text`, `echo text; echo ready >&2; exec yes`
	twice := func(j *testJob) { j.Signal(unix.SIGTERM); j.Signal(unix.SIGTERM) }
	for _, c := range []struct {
		name, script, await string
		end                 func(*testJob)
		status              int
		says                string
	}{
		{"timeout", ends, "exited with status 0", (*testJob).Expire, 124, "time limit of 1h0m0s; only its output is unfinished"},
		{"signals", ends, "exited with status 0", twice, 143, "SIGTERM: all ranks have ended, only their output has not"},
		{"killed", runs, "ready\n", twice, 143, "killing all ranks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			stuck := make(stuckWriter)
			j := start(t, "", 2, shell(c.script), func(s *spawner.Spec) {
				s.Stdout, s.Grace, s.Timeout, s.Verbose = stuck, time.Millisecond, time.Hour, true
			})
			j.err.await(c.await, 2)
			c.end(j)
			j.finish(c.status)
			j.reported(c.says)
			j.reported("gave up on output that nobody reads")
			close(stuck)
		})
	}
}

// A reader that takes its time loses nothing of a job that ends by itself.
func TestSlowReader(t *testing.T) {
	slow := make(stuckWriter)
	j := start(t, "", 1, shell(`echo text; exit 3`), func(s *spawner.Spec) { s.Stdout, s.Grace = slow, time.Millisecond })
	j.err.await("rank 0 exited with status 3", 1)
	slow <- struct{}{}
	j.finish(3)
	if strings.Contains(j.err.String(), "gave up") {
		t.Errorf("messages:\n%s", j.err)
	}
}

// A prompt is seen although its line has no end; the answer continues the line.
func TestPrompt(t *testing.T) {
	for _, tag := range []string{"", "[0] "} {
		t.Run("tag="+tag, func(t *testing.T) {
			in, answers := io.Pipe()
			defer answers.Close()
			j := startParallel(t, "prompt", 1, func(s *spawner.Spec) { s.Stdin, s.TagOutput = in, tag != "" })
			j.out.await(tag+"name? ", 1)
			fmt.Fprintln(answers, "Ada")
			j.out.await(tag+"colour? ", 1)
			fmt.Fprintln(answers, "red")
			j.finish(0)
			if want := tag + "name? Ada\n" + tag + "colour? red\n"; j.out.String() != want {
				t.Errorf("output %q, want %q", j.out, want)
			}
		})
	}
}

func TestStdinGoesToRankZero(t *testing.T) {
	text := strings.Repeat("some input\n", 10_000)
	file := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, in := range map[string]io.Reader{"reader": strings.NewReader(text), "file": f, "none": nil} {
		t.Run(name, func(t *testing.T) {
			j := start(t, "", 3, shell(`wc -l`), tagged, func(s *spawner.Spec) { s.Stdin = in })
			j.finish(0)
			first := "10000"
			if in == nil {
				first = "0"
			}
			for r, n := range []string{first, "0", "0"} {
				if want := fmt.Sprintf("[%d] %s\n", r, n); !strings.Contains(j.out.String(), want) {
					t.Errorf("no %q in %q", want, j.out)
				}
			}
		})
	}
}

// A rank that does not read its input does not hold up the job.
func TestUnreadStdin(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	startParallel(t, "never", 1, func(s *spawner.Spec) { s.Stdin = r }).finish(0)
}
