package record

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/aqueduct-go/aqueduct/internal/plural"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// mostRanks is how many ranks a table shows one by one; more are summed up.
const mostRanks = 16

// WriteTable writes the figures of a job for people: a line for each rank, and what was sent by category, received by
// handler, called, and waited for. A record that is nil is that of a rank of which nothing is known.
func WriteTable(to io.Writer, records []*Record) error {
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0) // whose lines without a tab are left as they are
	var all sums
	known := 0
	for _, r := range records {
		if r != nil && r.Figures != nil {
			known++
			all.add(r.Figures)
			if known == 1 {
				clock := "live"
				if r.Virtual {
					clock = "in virtual time"
				}
				fmt.Fprintf(t, "stats of %s over %s, %s\n", plural.Count(len(records), "rank", "ranks"), r.Conduit, clock)
			}
		}
	}
	if known == 0 {
		fmt.Fprintf(t, "stats: no rank has told any\n")
		return t.Flush()
	}
	writeRanks(t, records)
	for _, section := range []func(io.Writer){all.write, all.writeHandlers, all.writeCalls, all.writeWaits} {
		t.Flush() // has the columns of each fit it alone; the last Flush tells of errors
		section(t)
	}
	t.Flush()
	writeMatrix(t, records)
	return t.Flush()
}

// writeRanks writes a line for each rank.
func writeRanks(t io.Writer, records []*Record) {
	fmt.Fprintln(t, "RANK\tTIME\tWAITING\tSENT\tRECEIVED\tBYTES\tONE-SIDED\tBYTES\tPOLLS\tEMPTY\tNO ROOM\tMEMORY")
	for rank, r := range records[:min(len(records), mostRanks)] {
		if r == nil || r.Figures == nil {
			fmt.Fprintf(t, "%d%s  (it ended without telling)\n", rank, strings.Repeat("\t-", 11))
			continue
		}
		f := r.Figures
		name := strconv.Itoa(rank)
		if r.Host != "" {
			name += " on " + r.Host
		}
		m, o := f.Received(), f.OneSided()
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", name, short(f.Time, r.Virtual), share(f.Waiting(), f.Time),
			f.Sent(), m.N, m.Bytes, o.N, o.Bytes, f.Full+f.Empty, f.Empty, f.Stalls, Size(f.Memory))
	}
	if more := len(records) - mostRanks; more > 0 {
		fmt.Fprintf(t, "and %s, which are in the sums\n", plural.Count(more, "more rank", "more ranks"))
	}
}

// sums are the figures of all ranks together.
type sums struct {
	counts   [categories]Count
	handlers []Named
	calls    []Named
	waits    []Wait
}

// add adds the figures of a rank.
func (s *sums) add(f *Figures) {
	for _, p := range f.Peers {
		for c, n := range p.Received {
			s.counts[c].Add(n)
		}
		for c, n := range p.OneSided {
			s.counts[int(MessageCategories)+c].Add(n)
		}
	}
	s.handlers, s.calls = merge(s.handlers, f.Handlers), merge(s.calls, f.Collectives)
	for _, w := range f.Waits {
		i := slices.IndexFunc(s.waits, func(v Wait) bool { return v.Name == w.Name })
		if i < 0 {
			s.waits = append(s.waits, w)
			continue
		}
		s.waits[i].N += w.N
		s.waits[i].Time += w.Time
	}
}

// merge adds counts by name.
func merge(to, from []Named) []Named {
	for _, c := range from {
		i := slices.IndexFunc(to, func(v Named) bool { return v.Name == c.Name })
		if i < 0 {
			to = append(to, c)
			continue
		}
		to[i].Add(c.Count)
	}
	return to
}

// write writes what was sent, by category.
func (s *sums) write(t io.Writer) {
	fmt.Fprintln(t, "MESSAGE RECEIVED, OR OPERATION\tCOUNT\tBYTES")
	for c, n := range s.counts {
		if n.N > 0 {
			fmt.Fprintf(t, "%v\t%d\t%d\n", Category(c), n.N, n.Bytes)
		}
	}
}

func (s *sums) writeHandlers(t io.Writer) { writeNamed(t, "HANDLER\tRECEIVED\tBYTES", s.handlers) }

func (s *sums) writeCalls(t io.Writer) { writeNamed(t, "COLLECTIVE\tCALLS\tBYTES", s.calls) }

// writeWaits writes what was waited for.
func (s *sums) writeWaits(t io.Writer) {
	if len(s.waits) > 0 {
		fmt.Fprintln(t, "WAIT\tCOUNT\tTIME")
		for _, w := range s.waits {
			fmt.Fprintf(t, "%s\t%d\t%s\n", w.Name, w.N, short(w.Time, false))
		}
	}
}

// writeNamed writes counts by name.
func writeNamed(t io.Writer, head string, counts []Named) {
	if len(counts) == 0 {
		return
	}
	fmt.Fprintln(t, head)
	for _, c := range counts {
		fmt.Fprintf(t, "%s\t%d\t%d\n", c.Name, c.N, c.Bytes)
	}
}

// writeMatrix writes who has sent how many messages to whom, one-sided operations included.
func writeMatrix(t io.Writer, records []*Record) {
	if len(records) > mostRanks {
		fmt.Fprintf(t, "who sent to whom: in the forms for files, which have room for %d ranks\n", len(records))
		return
	}
	fmt.Fprint(t, "FROM\\TO")
	for to := range records {
		fmt.Fprintf(t, "\t%d", to)
	}
	fmt.Fprintln(t)
	for from := range records {
		fmt.Fprint(t, from)
		for to := range records {
			fmt.Fprintf(t, "\t%d", between(records, from, to).N)
		}
		fmt.Fprintln(t)
	}
}

// share says which part of a time another one is.
func share(part, whole vtime.Time) string {
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(max(whole, 1)))
}

// short returns a time for people, who want all its digits only if they are the same each time.
func short(t vtime.Time, exact bool) string {
	unit := vtime.Time(1)
	for !exact && t/unit >= 10000 {
		unit *= 10
	}
	return (t / unit * unit).String()
}

// Size returns a number of bytes for people, "-" for 0.
func Size(n uint64) string {
	switch {
	case n == 0:
		return "-"
	case n >= 10<<30:
		return fmt.Sprintf("%d GB", n>>30)
	case n >= 10<<20:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}
