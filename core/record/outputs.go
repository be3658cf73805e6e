package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Outputs says where the records of a job go.
type Outputs struct {
	Stats []string // Table, or paths of files, whose ends tell the forms: see ParseStats
	Trace string   // path of the file of events; "": none
}

// Table as one of Outputs.Stats stands for the table on standard error.
const Table = "table"

// forms are what figures are written as, by the end of a file's name; as a table otherwise.
var forms = map[string]func(io.Writer, []*Record) error{
	".json": WriteLines, ".jsonl": WriteLines, ".svg": WritePicture,
}

// ParseStats reads where figures go: a list, separated by commas, of "table" for a table on standard error, and of paths of
// files, which begin at the present directory: FILE.jsonl and FILE.json for lines of JSON, FILE.svg for a picture of who has sent to whom, and any other for the table.
func ParseStats(text string) (stats []string, err error) {
	for part := range strings.SplitSeq(text, ",") {
		switch {
		case part == "":
			return nil, errors.New("want table, or files such as job.jsonl, job.svg and job.txt, separated by commas")
		case part != Table:
			if part, err = filepath.Abs(part); err != nil {
				return nil, err
			}
		}
		if slices.Contains(stats, part) {
			return nil, fmt.Errorf("%s is there twice", part)
		}
		stats = append(stats, part)
	}
	return stats, nil
}

// Wanted reports whether there are any.
func (o *Outputs) Wanted() bool { return len(o.Stats) > 0 || o.Trace != "" }

// Write writes the records of a job, as Record.Encode returned them, by rank; nil stands for that of a rank that has handed
// over nothing. hostOf returns the name of a rank's host, "" if there is one host; nil: there is. The error names all that went wrong.
func (o *Outputs) Write(stderr io.Writer, encoded [][]byte, hostOf func(rank int) string) error {
	records := make([]*Record, len(encoded))
	var errs []error
	for rank, b := range encoded {
		if b == nil {
			continue
		}
		r, err := Decode(b, rank, len(encoded))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if hostOf != nil {
			r.Host = hostOf(rank)
		}
		records[rank] = r
	}
	for _, to := range o.Stats {
		var text bytes.Buffer
		form := forms[filepath.Ext(to)]
		if form == nil {
			form = WriteTable
		}
		err := form(&text, records) // which is no error in memory
		if to == Table {
			_, e := stderr.Write(text.Bytes())
			errs = append(errs, err, e)
			continue
		}
		errs = append(errs, err, os.WriteFile(to, text.Bytes(), 0o666))
	}
	if o.Trace != "" {
		errs = append(errs, writeFile(o.Trace, func(w io.Writer) error { return WriteTrace(w, records) }))
		o.warn(stderr, records)
	}
	return errors.Join(errs...)
}

// warn says what the trace lacks.
func (o *Outputs) warn(stderr io.Writer, records []*Record) {
	var dropped uint64
	for _, r := range records {
		if r != nil && r.Events != nil {
			dropped += r.Events.Dropped
		}
	}
	if dropped > 0 {
		fmt.Fprintf(stderr, "aqueduct: the trace %s has the latest events of each rank; %d earlier ones had no room (keep more by --trace-events, or fewer of each kind by --trace-sample)\n", o.Trace, dropped)
	}
}

// writeFile writes a file.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
