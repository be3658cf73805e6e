package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/impair"
	"github.com/aqueduct-go/aqueduct/conduits/udp/impair/tunnel"
	"github.com/aqueduct-go/aqueduct/internal/cli"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// pathsOptions are what the command line of paths says.
type pathsOptions struct {
	full, share      bool
	rtts             []time.Duration
	losses, reorders []string
	rates            []float64
	time             time.Duration
}

// pathsCommand returns the command that compares udp and TCP.
func pathsCommand() *cobra.Command {
	var o pathsOptions
	cmd := &cobra.Command{
		Use: "paths [option...]", Short: "compare udp and TCP over paths with delay",
		Long: `Prints a table: the rate of a stream over udp, and of one over the kernel's TCP with each of its
congestion controls cubic and bbr, over paths with delay, loss and reordering, one after the other.
The queue of the path has its bandwidth-delay product; each direction loses and reorders, by up to
1 ms. 'of best' is udp's rate as part of the better of the two TCPs. Needs root.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.complete(cmd.Flags(), args); err != nil {
				return failure{statusUsage, err}
			}
			return o.print(cmd.OutOrStdout())
		},
	}
	o.flags(cmd.Flags())
	cli.Unknown(cmd, "rtt", "loss", "reorder", "rate", "time")
	return cmd
}

// flags adds the options to a flag set.
func (o *pathsOptions) flags(fs *pflag.FlagSet) {
	fs.SortFlags = false
	fs.BoolVar(&o.full, "full", false, "all of 5 round trips, 4 losses, 3 reorderings, 2 rates: two hours")
	fs.DurationSliceVar(&o.rtts, "rtt", []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 130 * time.Millisecond}, "round trips, a list of `TIMES`; full: 1ms to 300ms")
	fs.StringSliceVar(&o.losses, "loss", []string{"0%", "1%"}, "`SHARES` of packets that are lost, each way; full: 0%,0.1%,1%,10%")
	fs.StringSliceVar(&o.reorders, "reorder", []string{"0%", "1%"}, "`SHARES` of packets that are held back, each way; full: 0%,1%,5%")
	fs.Float64SliceVar(&o.rates, "rate", []float64{10}, "`MEGABYTES` a second; full: 10,100")
	fs.DurationVar(&o.time, "time", 5*time.Second, "`TIME` of each measurement, after 1s or 15 round trips")
	fs.BoolVar(&o.share, "share", false, "two streams at a time instead: the rate of udp as part of both beside another udp, TCP with cubic, and TCP with bbr")
}

// complete refuses what makes no sense, and decides what the options leave open, which fs has read.
func (o *pathsOptions) complete(fs *pflag.FlagSet, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("paths: argument %q; it takes options only", args[0])
	}
	if o.time <= 0 {
		return fmt.Errorf("paths: --time is %v; want a positive time, such as 5s", o.time)
	}
	for _, r := range o.rtts {
		if r <= 0 {
			return fmt.Errorf("paths: --rtt %v; want a positive time, such as 50ms", r)
		}
	}
	for _, r := range o.rates {
		if !(r > 0 && r <= 1e5) {
			return fmt.Errorf("paths: --rate %v; want megabytes a second, such as 10", r)
		}
	}
	if o.full {
		set := func(name string, f func()) {
			if !fs.Changed(name) {
				f()
			}
		}
		set("rtt", func() {
			o.rtts = []time.Duration{time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond, 130 * time.Millisecond, 300 * time.Millisecond}
		})
		set("loss", func() { o.losses = []string{"0%", "0.1%", "1%", "10%"} })
		set("reorder", func() { o.reorders = []string{"0%", "1%", "5%"} })
		set("rate", func() { o.rates = []float64{10, 100} })
	}
	return nil
}

// print measures and prints the table.
func (o *pathsOptions) print(stdout io.Writer) error {
	points, err := o.points()
	if err != nil {
		return failure{statusUsage, err}
	}
	head, measure := []string{"udp", "cubic", "bbr", "of best"}, point.alone
	if o.share {
		head, measure = []string{"by udp", "by cubic", "by bbr"}, point.beside
	}
	if err := row(stdout, "rtt", "MB/s", "loss", "reorder", head); err != nil {
		return err
	}
	for _, p := range points {
		figures, err := measure(p, o.time)
		if err != nil {
			return err
		}
		if err := row(stdout, p.rtt.String(), fmt.Sprint(p.rate), p.loss, p.reorder, figures); err != nil {
			return err
		}
	}
	return nil
}

// points returns the paths to be measured.
func (o *pathsOptions) points() (all []point, err error) {
	for _, rate := range o.rates {
		for _, rtt := range o.rtts {
			for _, loss := range o.losses {
				for _, reorder := range o.reorders {
					p, err := newPoint(rate, rtt, loss, reorder)
					if err != nil {
						return nil, fmt.Errorf("paths: %s", strings.TrimPrefix(err.Error(), "impair: "))
					}
					all = append(all, p)
				}
			}
		}
	}
	return all, nil
}

// row prints a line of the table.
func row(w io.Writer, rtt, rate, loss, reorder string, figures []string) error {
	line := fmt.Sprintf("%9s%9s%9s%9s", rtt, rate, loss, reorder)
	for _, f := range figures {
		line += fmt.Sprintf("%9s", f)
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// point is a path to be measured.
type point struct {
	rate          float64 // megabytes a second
	rtt           time.Duration
	loss, reorder string
	settings      impair.Settings
	settle        time.Duration // before a stream is measured
}

// newPoint returns a path.
func newPoint(rate float64, rtt time.Duration, loss, reorder string) (p point, err error) {
	p = point{rate: rate, rtt: rtt, loss: loss, reorder: reorder}
	text := fmt.Sprintf("delay=%v,loss=%s,reorder=%s,rate=%gmbit,queue=%d", rtt/2, loss, reorder,
		8*rate, max(4, int(math.Ceil(rate*1e6*rtt.Seconds()/tunnel.DefaultMTU))))
	if p.settings, err = impair.Parse(text); err != nil {
		return p, err
	}
	// Slow start to 20,000 packets takes eleven round trips.
	p.settle = max(time.Second, 15*rtt)
	return p, nil
}

// alone returns the rates of the streams, each by itself, and udp's as part of the best other.
func (p point) alone(d time.Duration) (figures []string, err error) {
	var rates []float64
	for _, k := range kinds {
		r, err := p.run(d, k)
		if err != nil {
			return nil, err
		}
		rates = append(rates, r[0])
		figures = append(figures, fmt.Sprintf("%.2f", r[0]/1e6))
	}
	return append(figures, fmt.Sprintf("%.2f", rates[0]/max(rates[1], rates[2]))), nil
}

// beside returns the part that udp has of both rates beside each kind of stream.
func (p point) beside(d time.Duration) (figures []string, err error) {
	for _, k := range kinds {
		r, err := p.run(d, kinds[0], k)
		if err != nil {
			return nil, err
		}
		figures = append(figures, fmt.Sprintf("%.2f", r[0]/(r[0]+r[1])))
	}
	return figures, nil
}

// atOnce has the Go runtime let so many goroutines run at a time, if it would be fewer, until what it
// returns is called. With fewer, one that comes back from a system call may have to wait until the
// runtime notices that another sleeps in one, and it looks every 10 ms only. Processes need not
// wait for each other so, nor does the kernel's TCP.
func atOnce(n int) (back func()) {
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(max(before, n))
	return func() { runtime.GOMAXPROCS(before) }
}

// run has streams share a path, and returns the bytes a second of each.
func (p point) run(d time.Duration, streams ...kind) (rates []float64, err error) {
	defer atOnce(2*len(streams) + 1)() // their ends, and the tunnel
	tun, err := tunnel.New(tunnel.Config{Nodes: 2, Settings: p.settings, Seed: 1})
	if err != nil {
		return nil, err
	}
	defer tun.Close()
	var flows []*flow
	defer func() {
		for _, f := range flows {
			err = errors.Join(err, f.end())
		}
	}()
	for _, k := range streams {
		f, err := k.begin(tun)
		if err != nil {
			return nil, err
		}
		flows = append(flows, f)
	}
	time.Sleep(p.settle) // the measurement is of what passes in a time
	start, before := time.Now(), make([]uint64, len(flows))
	for i, f := range flows {
		before[i] = f.bytes.Load()
	}
	time.Sleep(d)
	took := time.Since(start).Seconds()
	for i, f := range flows {
		rates = append(rates, float64(f.bytes.Load()-before[i])/took)
	}
	return rates, nil
}
