package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/record"
	"github.com/aqueduct-go/aqueduct/internal/cli"
	"github.com/aqueduct-go/aqueduct/internal/plural"
	"github.com/aqueduct-go/aqueduct/spawner"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// top is the command aqrun top.
type top struct {
	interval    time.Duration
	once, lines bool
	process     int // 0: any
	out         io.Writer
	screen      bool // out is a terminal, which is drawn on
	rows        int  // of it
}

// topCommand returns the command.
func topCommand() *cobra.Command {
	t, interval := new(top), duration(time.Second)
	cmd := &cobra.Command{
		Use: "top [option...] [PROCESS]", Short: "show the ranks of a job that runs",
		Long: `Shows the ranks of a job of this user that runs on this host: messages and bytes a second, the share
of its time in waits, its memory, and what each waits for. PROCESS is the id of the process that has
started the job (aqrun, or the one whose goroutines its ranks are); without it the only job is shown,
or all are listed. Bytes and waits are known of jobs that were started with --stats. On a terminal the
table is shown again and again until the job ends, or until Ctrl-C. Jobs that are not aqrun's cannot be
seen: those that srun or the mpiexec of an MPI library has started, and static ones; nor can jobs in
virtual time. What they have done, AQUEDUCT_STATS tells at their end.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t.out, t.interval = cmd.OutOrStdout(), time.Duration(interval)
			if err := t.take(args); err != nil {
				return cli.Misused(err)
			}
			if err := t.run(); err != nil {
				return &core.ExitError{Status: 1, Reason: err.Error()}
			}
			return nil
		},
	}
	cmd.Flags().Var(&interval, "interval", "over which `TIME` rates are measured, and until the next table")
	cmd.Flags().BoolVar(&t.once, "once", false, "show one table")
	cmd.Flags().BoolVar(&t.lines, "json", false, "print what is known of all ranks as a line of JSON each time")
	cli.Unknown(cmd, "interval")
	return cmd
}

// take takes the operands, and looks where the output goes.
func (t *top) take(args []string) (err error) {
	switch {
	case len(args) > 1:
		return errors.New("top takes the id of one process at most")
	case t.interval < 100*time.Millisecond:
		return errors.New("--interval: want a time from 100ms on, as each table asks all ranks")
	case len(args) == 1:
		if t.process, err = strconv.Atoi(args[0]); err != nil || t.process < 1 {
			return fmt.Errorf("%q is no id of a process", args[0])
		}
	}
	if f, ok := t.out.(*os.File); ok && !t.once && !t.lines {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil {
			t.screen, t.rows = true, int(size.Row)
		}
	}
	return nil
}

// run finds the job and shows it.
func (t *top) run() error {
	jobs, err := spawner.Jobs(t.process)
	if err != nil {
		return err
	}
	defer func() {
		for _, j := range jobs {
			j.Close()
		}
	}()
	var found []*spawner.Seen
	var views []spawner.View
	for _, j := range jobs {
		if v, err := j.Look(); err == nil && (t.process == 0 || v.Process == t.process) {
			found, views = append(found, j), append(views, v)
		}
	}
	switch {
	case len(found) == 1:
		return t.show(found[0], views[0])
	case len(found) > 1:
		return t.list(views)
	case t.process != 0:
		return fmt.Errorf("process %d has no job that runs and can be seen; aqrun top lists those that can; %s", t.process, unseen)
	}
	return fmt.Errorf("no job of this user runs here that can be seen; %s", unseen)
}

// unseen says which jobs cannot be seen, and what there is instead.
const unseen = "jobs of srun or mpiexec, static jobs, and jobs in virtual time cannot be: AQUEDUCT_STATS tells at their end what they have done"

// list lists jobs.
func (t *top) list(views []spawner.View) error {
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROCESS\tRANKS\tHOSTS\tAGE\tPROGRAM")
	for _, v := range views {
		fmt.Fprintf(w, "%d\t%d\t%d\t%v\t%s\n", v.Process, v.Ranks, v.Hosts, v.Age.Round(time.Second), v.Command)
	}
	fmt.Fprintln(w, "several jobs run; name one: aqrun top PROCESS")
	return w.Flush()
}

// show shows a job until it ends, or the user has seen enough.
func (t *top) show(job *spawner.Seen, before spawner.View) error {
	enough := make(chan os.Signal, 1)
	signal.Notify(enough, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer signal.Stop(enough)
	if t.screen {
		io.WriteString(t.out, "\x1b[?1049h\x1b[?25l")       // another screen, no cursor
		defer io.WriteString(t.out, "\x1b[?25h\x1b[?1049l") // as it was
	}
	for {
		select {
		case <-enough:
			return nil
		case <-time.After(t.interval):
		}
		now, err := job.Look()
		if errors.Is(err, spawner.ErrJobOver) {
			if t.screen {
				return nil
			}
			_, err = fmt.Fprintln(t.out, "the job has ended")
			return err
		}
		if err != nil {
			return err
		}
		if err := t.draw(&before, &now); err != nil || t.once {
			return err
		}
		before = now
	}
}

// draw writes a table.
func (t *top) draw(before, now *spawner.View) error {
	if t.lines {
		return json.NewEncoder(t.out).Encode(now)
	}
	var text strings.Builder
	writeView(&text, before, now)
	lines := strings.SplitAfter(text.String(), "\n")
	if t.screen {
		if len(lines) > t.rows && t.rows > 1 {
			lines = append(lines[:t.rows-1], fmt.Sprintf("and %d lines more", len(lines)-t.rows))
		}
		for i := range lines {
			lines[i] = strings.Replace(lines[i], "\n", "\x1b[K\r\n", 1)
		}
		lines = append([]string{"\x1b[H"}, append(lines, "\x1b[J")...)
	}
	_, err := io.WriteString(t.out, strings.Join(lines, ""))
	return err
}

// writeView writes what is to be seen of a job, with rates since the view before.
func writeView(to io.Writer, before, now *spawner.View) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s: %s on %s, for %v (process %d)\n", now.Command, plural.Count(now.Ranks, "rank", "ranks"),
		plural.Count(now.Hosts, "host", "hosts"), now.Age.Round(time.Second), now.Process)
	fmt.Fprintln(w, "RANK\tSENT/s\tRECEIVED/s\tBYTES/s\tWAITING\tMEMORY\tDOES")
	for i := range now.Places {
		p := &now.Places[i]
		name := strconv.Itoa(int(p.Rank))
		if p.Host != "" {
			name += " on " + p.Host
		}
		var old *core.Load
		if i < len(before.Places) {
			old = before.Places[i].Load
		}
		sent, received, bytes, waiting, memory := rates(old, p.Load)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, sent, received, bytes, waiting, memory, p.Describe())
	}
	w.Flush() // to a buffer
}

// rates returns what a rank has done since a look before, a second, "-" for what is not known.
func rates(old, now *core.Load) (sent, received, bytes, waiting, memory string) {
	sent, received, bytes, waiting, memory = "-", "-", "-", "-", "-"
	if now == nil {
		return
	}
	memory = record.Size(now.Memory)
	if old == nil || now.Time <= old.Time {
		return
	}
	span := (now.Time - old.Time).Seconds()
	rate := func(a, b uint64) string { return fmt.Sprintf("%.0f", float64(b-min(a, b))/span) }
	sent, received = rate(old.Sent, now.Sent), rate(old.Received, now.Received)
	if now.Watched {
		bytes = cmp.Or(strings.TrimPrefix(record.Size(uint64(float64(now.Bytes-min(old.Bytes, now.Bytes))/span)), "-"), "0 B")
		waiting = fmt.Sprintf("%.0f %%", min(100, max(0, 100*(now.Waiting-old.Waiting).Seconds()/span)))
	}
	return
}
