package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core/record"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/spf13/pflag"
)

// watching is what the options say of what is recorded of a job. The variables of the same meaning hold where an option does not
// say otherwise.
type watching struct {
	stats, trace, events, sample string
	outputs                      record.Outputs
	lines                        string // file of the model's trace
}

// flags defines the options.
func (w *watching) flags(fs *pflag.FlagSet) {
	fs.StringVar(&w.stats, "stats", "", "print what ranks have done with the network when the job has ended; --stats=`WHERE`: into files, such as job.jsonl, job.svg and job.txt, separated by commas")
	fs.Lookup("stats").NoOptDefVal = record.Table
	fs.StringVar(&w.trace, "trace", "", "write messages, handlers, waits and collectives of all ranks to `FILE`.json; in virtual time a FILE of another name gets a line for everything that happens")
	fs.StringVar(&w.events, "trace-events", "", "have each rank keep its latest `N` events (default 16384)")
	fs.StringVar(&w.sample, "trace-sample", "", "have only every `N`th message and wait become an event (default 1)")
}

// variable is an option with what it is called in the environment.
type variable struct{ option, name, value string }

// variables returns the options.
func (w *watching) variables() []variable {
	return []variable{
		{"stats", "AQUEDUCT_STATS", w.stats}, {"trace", "AQUEDUCT_TRACE", w.trace},
		{"trace-events", "AQUEDUCT_TRACE_EVENTS", w.events}, {"trace-sample", "AQUEDUCT_TRACE_SAMPLE", w.sample},
	}
}

// check refuses what cannot be, of a job that is modelled or not. Paths begin here, not where --wdir leads.
func (w *watching) check(modelled bool) (err error) {
	for _, v := range w.variables() {
		text := cmp.Or(v.value, os.Getenv(v.name))
		if text == "" {
			continue
		}
		switch v.option {
		case "stats":
			w.outputs.Stats, err = record.ParseStats(text)
		case "trace":
			if aqueduct.EventTrace(text) {
				w.outputs.Trace, err = filepath.Abs(text)
			} else if w.lines, err = filepath.Abs(text); !modelled && v.value != "" {
				return errors.New("--trace is for jobs in virtual time; it needs --model, unless the file is called NAME.json")
			}
		case "trace-events":
			_, err = aqueduct.ParseEvents(text)
		case "trace-sample":
			_, err = aqueduct.ParseSample(text)
		}
		if err != nil {
			return fmt.Errorf("--%s %s: %w", v.option, text, err)
		}
		if strings.HasPrefix(v.option, "trace-") && v.value != "" && w.outputs.Trace == "" {
			return fmt.Errorf("--%s is for a trace of events; give --trace FILE.json", v.option)
		}
	}
	return nil
}

// further returns the variables of the ranks. Those that share a process write what is recorded themselves, otherwise the launcher does.
func (w *watching) further() (env []string) {
	for _, v := range [][2]string{
		{"AQUEDUCT_STATS", strings.Join(w.outputs.Stats, ",")}, {"AQUEDUCT_TRACE", cmp.Or(w.outputs.Trace, w.lines)},
		{"AQUEDUCT_TRACE_EVENTS", w.events}, {"AQUEDUCT_TRACE_SAMPLE", w.sample},
	} {
		if v[1] != "" {
			env = append(env, v[0]+"="+v[1])
		}
	}
	return env
}

// write writes the records of a job that has ended, and returns the status of aqrun.
func (w *watching) write(spec *spawner.Spec, job *spawner.Job, status int, stderr io.Writer) int {
	if !w.outputs.Wanted() || spec.Mode != spawner.Processes {
		return status
	}
	var hostOf func(rank int) string
	if len(spec.Hosts) > 1 {
		hostOf = func(rank int) string { return spec.Hosts[spec.HostOf[rank]] }
	}
	if err := w.outputs.Write(stderr, job.Records(), hostOf); err != nil {
		fmt.Fprintf(stderr, "aqrun: what was recorded of the job cannot be written: %v\n", err)
		return cmp.Or(status, statusSelf)
	}
	return status
}
