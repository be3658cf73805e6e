package aqueduct

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/record"
	"github.com/aqueduct-go/aqueduct/spawner"
)

// DefaultEvents is how many events each rank of a traced job keeps, if nothing else is said.
const DefaultEvents = 1 << 14

// ParseEvents reads how many events each rank keeps, as users say it (AQUEDUCT_TRACE_EVENTS).
func ParseEvents(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > core.MaxEvents {
		return 0, fmt.Errorf("want a number of events from 1 to %d", core.MaxEvents)
	}
	return n, nil
}

// ParseSample reads that every so manieth message and wait becomes an event (AQUEDUCT_TRACE_SAMPLE).
func ParseSample(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 1<<30 {
		return 0, errors.New("want a number from 1 on: 1 for every message, 10 for one of ten")
	}
	return n, nil
}

// EventTrace reports whether a trace in this file is one of events, as package core/record writes it for any job, and not the
// lines that the model writes.
func EventTrace(path string) bool { return filepath.Ext(path) == ".json" }

// setTrace takes the file of a trace.
func setTrace(s *settings, v string) (err error) {
	if !EventTrace(v) {
		s.trace = v
		return nil
	}
	s.record.Trace, err = filepath.Abs(v)
	return err
}

// watch has the job recorded, if something of it is wanted.
func (s *settings) watch() {
	if s.record.Trace == "" {
		s.cfg.Events = 0
	} else {
		s.cfg.Events = cmp.Or(s.cfg.Events, DefaultEvents)
	}
	if !s.record.Wanted() {
		return
	}
	s.cfg.Stats = len(s.record.Stats) > 0
	s.cfg.Records = func(records [][]byte) {
		out := s.record
		if rank, alone := onlyOne(records); alone {
			out = ofRank(out, rank)
		}
		if err := out.Write(os.Stderr, records, nil); err != nil {
			s.cfg.Logger().Warn("what was recorded of the job cannot be written: " + err.Error())
		}
	}
}

// onlyOne returns the rank whose record alone there is, of several: that of a failed job whose ranks could not exchange theirs.
func onlyOne(records [][]byte) (rank int, alone bool) {
	for r, b := range records {
		if b != nil {
			if alone {
				return 0, false
			}
			rank, alone = r, true
		}
	}
	return rank, alone && len(records) > 1
}

// ofRank returns outputs into files of the rank's own: job.rank3.json for job.json.
func ofRank(o record.Outputs, rank int) record.Outputs {
	own := func(path string) string {
		if path == "" || path == record.Table {
			return path
		}
		ext := filepath.Ext(path)
		return fmt.Sprintf("%s.rank%d%s", strings.TrimSuffix(path, ext), rank, ext)
	}
	o.Stats = slices.Clone(o.Stats)
	for i := range o.Stats {
		o.Stats[i] = own(o.Stats[i])
	}
	o.Trace = own(o.Trace)
	return o
}

// show lets aqrun top see a job whose ranks are goroutines, until the function is called.
func (s *settings) show(places *atomic.Pointer[func() []core.Place]) (hide func()) {
	began := time.Now()
	v := spawner.View{Process: os.Getpid(), Command: strings.Join(os.Args, " "), Ranks: s.ranks, Hosts: 1}
	hide, err := spawner.Show(func() (spawner.View, bool) {
		now := v
		if f := places.Load(); f != nil {
			now.Places = (*f)()
		}
		now.Age = time.Since(began)
		return now, true
	})
	if err != nil {
		return func() {} // the job runs without being seen
	}
	return hide
}
