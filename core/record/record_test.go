package record_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core/record"
	"github.com/aqueduct-go/aqueduct/core/record/recordtest"
)

// counts returns counts of which one is not zero.
func counts(n int, at record.Category, c record.Count) []record.Count {
	all := make([]record.Count, n)
	all[at] = c
	return all
}

// example returns the records of a job of three ranks, of which rank 2 has died: rank 0 has sent three messages to rank 1 and one
// to rank 2, and put 8 bytes.
func example() []*record.Record {
	const messages, others = int(record.MessageCategories), int(record.OneSidedCategories)
	return []*record.Record{{
		Rank: 0, Conduit: "sci/live",
		Figures: &record.Figures{Time: 2e12, Full: 1, Empty: 2, Waits: []record.Wait{{Name: "Barrier", N: 2, Time: 5e11}}, Peers: []record.Peer{
			{Rank: 1, Requests: 3, Received: make([]record.Count, messages), OneSided: counts(others, record.Put-record.MessageCategories, record.Count{N: 1, Bytes: 8})},
			{Rank: 2, Requests: 1, Received: make([]record.Count, messages), OneSided: make([]record.Count, others)},
		}},
		Events: &record.Events{Names: []string{"work", "Barrier"}, Sample: 1, List: []record.Event{
			{Kind: record.SendEvent, Start: 10, Dur: 5, Peer: 1, Flow: 7},
			{Kind: record.SendEvent, Start: 20, Dur: 0, Peer: 1, Flow: 8},
			{Kind: record.WaitEvent, Start: 5, Dur: 20, Name: 1, Peer: -1},
			{Kind: record.CollectiveEvent, Start: 12, Dur: 30, Name: 1, Peer: -1, Flow: 2}, // they overlap
			{Kind: record.CollectiveEvent, Start: 2, Dur: 40, Name: 1, Peer: -1, Flow: 1},
		}},
	}, {
		Rank: 1, Conduit: "sci/live",
		Figures: &record.Figures{Time: 2e12, Handlers: []record.Named{{Name: "work", Count: record.Count{N: 3, Bytes: 30}}}, Peers: []record.Peer{
			{Rank: 0, Received: counts(messages, record.MediumRequest, record.Count{N: 3, Bytes: 30}), OneSided: make([]record.Count, others)},
		}},
		Events: &record.Events{Names: []string{"work"}, Sample: 1, Dropped: 1, Origin: 0, List: []record.Event{
			{Kind: record.HandlerEvent, Start: 30, Dur: 5, Peer: 0, Flow: 7},
		}},
	}, nil}
}

// TestEncode: a record survives its way, and one of another rank, or that cannot be, is refused.
func TestEncode(t *testing.T) {
	r := example()[0]
	back, err := record.Decode(r.Encode(), 0, 3)
	if err != nil || !reflect.DeepEqual(back, r) {
		t.Fatalf("%v\n%+v\nwant:\n%+v", err, back, r)
	}
	for what, err := range map[string]error{
		"another rank": errorOf(record.Decode(r.Encode(), 1, 3)),
		"too few":      errorOf(record.Decode(r.Encode(), 0, 2)),
		"no JSON":      errorOf(record.Decode([]byte("{"), 0, 3)),
		"half events":  errorOf(record.Decode([]byte(`{"Events":{"List":"AAAA"}}`), 0, 3)),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}

func errorOf(_ *record.Record, err error) error { return err }

// FuzzDecode: nothing that a rank sends panics, nor what is written of it.
func FuzzDecode(f *testing.F) {
	for _, r := range example()[:2] {
		f.Add(r.Encode())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := record.Decode(b, 0, 3); err == nil {
			records := []*record.Record{r, nil, nil}
			err = errors.Join(record.WriteTable(io.Discard, records), record.WriteLines(io.Discard, records), record.WritePicture(io.Discard, records), record.WriteTrace(io.Discard, records))
			if err != nil {
				t.Error(err)
			}
		}
	})
}

// TestForms: the figures are in each form, and those of a rank that has died say so.
func TestForms(t *testing.T) {
	for form, c := range map[string]struct {
		write func(io.Writer, []*record.Record) error
		says  []string
	}{
		"table": {record.WriteTable, []string{
			"stats of 3 ranks over sci/live, live\n", "-  (it ended without telling)\n", "25.0 %", "medium request", "work ", "\n0        0  4  1\n",
		}},
		"lines": {record.WriteLines, []string{
			`{"kind":"matrix","from":0,"to":1,"messages":4,"bytes":38}`, `{"kind":"matrix","from":0,"to":2,"messages":1,"bytes":0}`,
			`{"kind":"rank","rank":2,"known":false,`, `{"kind":"wait","rank":0,"name":"Barrier","count":2,"time":0.5}`,
			`{"kind":"received","from":0,"to":1,"category":"medium request","count":3,"bytes":30}`, `{"kind":"operation","from":0,"to":1,"category":"put","count":1,"bytes":8}`,
		}},
		"picture": {record.WritePicture, []string{"<svg ", "rank 0 to rank 1: 4 messages and operations, 38 bytes", "rank 2 ended without telling"}},
	} {
		var b bytes.Buffer
		if err := c.write(&b, example()); err != nil {
			t.Error(err)
		}
		for _, says := range c.says {
			if !strings.Contains(b.String(), says) {
				t.Errorf("the %s has no %q:\n%s", form, says, b.String())
			}
		}
		if form == "picture" {
			for d := xml.NewDecoder(&b); ; {
				if _, err := d.Token(); err == io.EOF {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestTrace: what is written passes the check, and the check refuses what has been spoilt.
func TestTrace(t *testing.T) {
	var b bytes.Buffer
	if err := record.WriteTrace(&b, example()); err != nil {
		t.Fatal(err)
	}
	found, err := recordtest.CheckTrace(b.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	if found.Slices != 4 || found.Flows != 1 || found.Dropped != 1 || found.Names["wait Barrier"] != 1 || found.Names["send work"] != 2 || found.Names["handler work"] != 1 || found.Names["collective Barrier"] != 2 || found.Lasting != 2 {
		t.Errorf("found %+v\n%s", found, b.String())
	}
	for _, spoil := range [][2]string{
		{`"ph":"E"`, `"ph":"B"`}, {`"ph":"f"`, `"ph":"s"`}, {`"name":"thread_name"`, `"name":"thread"`}, {`"id":"0x7"`, `"id":"0x9"`},
		{`"bp":"e"`, `"bp":""`}, {`"ts":0.000030`, `"ts":-1`}, {`"tid":`, `"thread":`}, {`"ph":"b"`, `"ph":"e"`}, {`"ph":"e"`, `"ph":"b"`}, {`"ph":"e"`, `"ph":"?"`}, {`"id":"0x10000000001"`, `"id":"0x10000000002"`}, {`"cat":"wait"`, `"cat":""`},
	} {
		bad := strings.Replace(b.String(), spoil[0], spoil[1], 1)
		if _, err := recordtest.CheckTrace([]byte(bad)); err == nil && bad != b.String() {
			t.Errorf("%s in place of %s is not noticed", spoil[1], spoil[0])
		}
	}
}

// TestOutputs: each file gets the form that its name tells, and a list that makes no sense is refused.
func TestOutputs(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	stats, err := record.ParseStats("table,job.jsonl,job.svg,job.txt")
	if err != nil {
		t.Fatal(err)
	}
	var encoded [][]byte
	for _, r := range example() {
		if r == nil {
			encoded = append(encoded, nil)
			continue
		}
		encoded = append(encoded, r.Encode())
	}
	var stderr bytes.Buffer
	out := record.Outputs{Stats: stats, Trace: filepath.Join(dir, "job.json")}
	if err := out.Write(&stderr, encoded, func(rank int) string { return "alpha" }); err != nil {
		t.Fatal(err)
	}
	if text := stderr.String(); !strings.Contains(text, "0 on alpha") || !strings.Contains(text, "1 earlier ones had no room") {
		t.Error(text)
	}
	for name, begins := range map[string]string{"job.jsonl": `{"kind":"job"`, "job.svg": "<svg", "job.txt": "stats of", "job.json": `{"displayTimeUnit"`} {
		if text, err := os.ReadFile(name); err != nil || !strings.HasPrefix(string(text), begins) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	for _, bad := range []string{"", "table,table", "a,,b"} {
		if _, err := record.ParseStats(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
