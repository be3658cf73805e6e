package paper

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aqueduct-go/aqueduct/bench/plot"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// gasnetConduit is the conduit over GRIM.
const gasnetConduit = "myrinet"

// A contender is the conduit over a network of a modelled machine, with what it comes to by the name of the category.
type contender struct {
	*Setting
	network string
	ways    map[string]*way
}

// name is what names of numbers end in.
func (c *contender) name() string { return strings.ToLower(c.network) }

// A way is a category over a contender.
type way struct {
	*transferred
	latency []plot.Point // µs: of messages half of the round trip, of puts and gets until they have ended
}

// contenders returns the conduit on the setting's machine of GRIM, and those that it is set beside.
func (s *Setting) contenders(o *Outcome) ([]*contender, error) {
	here := *s
	here.Conduit = gasnetConduit
	sci, err := SCI.Setting(suMachines[0])
	if err != nil {
		return nil, err
	}
	sci.Seed, sci.Full = s.Seed, s.Full
	all := []*contender{{Setting: &here, network: "GRIM"}, {Setting: sci, network: "SCI"}}
	if mpi := sci.overMPI(o); mpi != nil {
		all = append(all, &contender{Setting: mpi, network: "ScaMPI"})
	}
	return all, nil
}

// mediumLimit returns the bytes of the largest Medium, there and back.
func (s *Setting) mediumLimit() (most int, err error) {
	w := new(window)
	err = s.job(pairRanks, small, w, func(job *core.Job) error {
		ep, err := job.Attach(core.AttachSpec{})
		if err != nil {
			return err
		}
		w.begin(job)
		defer w.end(job)
		l := ep.Limits()
		most = min(l.MaxMediumRequest, l.MaxMediumReply)
		return nil
	})
	return most, err
}

// sizesOf returns the sizes at which a category is measured. Those of Shorts are of their arguments.
func (s *Setting) sizesOf(c *category) ([]int, error) {
	sizes := []int{8, 512, 4096, 128 << 10}
	if s.Full {
		sizes = powers(8, 1<<20)
	}
	switch {
	case !c.message || c.kind == core.Long:
		return sizes, nil
	case c.kind == core.Short:
		return []int{4, 8, 16, 20, 32, 4 * core.MaxArgs}, nil
	}
	limit, err := s.mediumLimit()
	if err != nil {
		return nil, err
	}
	return append(slices.DeleteFunc(sizes, func(n int) bool { return n >= limit }), limit), nil
}

// way measures a category.
func (s *Setting) way(c *category) (*way, error) {
	sizes, err := s.sizesOf(c)
	if err != nil {
		return nil, err
	}
	st := &transfers{category: c, sizes: sizes, repeats: s.repeats(100), bytes: 1 << 17}
	if s.Full {
		st.bytes = 4 << 20
	}
	w := new(way)
	if w.transferred, err = st.run(s); err != nil {
		return nil, err
	}
	if !c.message {
		w.latency = w.single
		return w, nil
	}
	r := roundTrips{kind: c.kind, sizes: sizes, ranks: pairRanks, repeats: s.repeats(100)}
	r.config.Segment = fmt.Sprint(max(sizes[len(sizes)-1], 4096))
	w.latency, err = r.points(s)
	return w, err
}

// myrinetGASNet sets the conduit over GRIM beside those over SCI, category by category.
func myrinetGASNet(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	all, err := s.contenders(o)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		c.ways = map[string]*way{}
		for _, kind := range categories {
			if c.ways[kind.name], err = c.way(kind); err != nil {
				return nil, err
			}
		}
	}
	for _, kind := range categories {
		s.gasnetFigures(o, kind, all)
	}
	p, err := s.grimProfile()
	if err != nil {
		return nil, err
	}
	o.claimGRIM(p, all[0].ways)
	for _, c := range all {
		for _, name := range []string{"put", "get"} {
			if c == all[0] && name == "get" && p.GRIM.Buffers == 1 {
				o.note("With one receive buffer GRIM has no reads (RM-RV): gets go by messages.")
				continue
			}
			o.claimBusy(c, name)
		}
	}
	o.note("SCI and ScaMPI are on %s, and each machine is of its own year: what differs is machines and mechanisms alike.", suMachines[0])
	if !s.Full {
		o.note("Streams are short: where a stream has as few as %d transfers, its beginning and its end count. --full has longer ones.", leastItems)
	}
	return o, nil
}

// gasnetFigures adds the numbers and figures of a category.
func (s *Setting) gasnetFigures(o *Outcome, kind *category, all []*contender) {
	what, x := "until it has ended", "bytes of data"
	switch {
	case kind.message && kind.kind == core.Short:
		what, x = "half round trip", "bytes of arguments"
	case kind.message:
		what = "half round trip"
	}
	latency := plot.Figure{
		Title: fmt.Sprintf("GASNet's %s: %s", kind.name, what), Note: s.reproduce("myrinet-gasnet"),
		X: plot.Axis{Label: x, Scale: plot.Log2}, Y: plot.Axis{Label: "time, µs", Scale: plot.Log10},
	}
	bandwidth := plot.Figure{
		Title: fmt.Sprintf("GASNet's %s: many in a row", kind.name), Note: s.reproduce("myrinet-gasnet"),
		X: plot.Axis{Label: x, Scale: plot.Log2}, Y: plot.Axis{Label: "bandwidth, MB/s"},
	}
	for _, c := range all {
		w := c.ways[kind.name]
		name := kind.name + "-" + c.name()
		first, last := w.latency[0], w.rates[len(w.rates)-1]
		o.number(name, fmt.Sprintf("%s of %s %s, %s", kind.name, figures(first.X), x, what), first.Y, "us")
		o.number(name+"-rate", fmt.Sprintf("%s of %s %s, many in a row", kind.name, figures(last.X), x), last.Y, "MB/s")
		if !kind.message {
			o.number(name+"-busy", fmt.Sprintf("%s of %d bytes, %s, while its target computes for %v", kind.name, busyBytes, what, busyTime-busyLate), w.busy, "us")
		}
		latency.Series = append(latency.Series, plot.Series{Name: c.network + ", " + c.Machine.Name, Points: w.latency})
		bandwidth.Series = append(bandwidth.Series, plot.Series{Name: c.network + ", " + c.Machine.Name, Points: w.rates})
	}
	o.Figures = append(o.Figures, Figure{kind.name + "-latency", latency}, Figure{kind.name + "-bandwidth", bandwidth})
}

// perByte returns the µs of each byte of a burst of the host DMA engine, and of the link.
func perByte(p *grim.Profile) (fetch, link, store float64) {
	burst := int(p.DMA.Burst)
	of := func(t vtime.Time) float64 { return micros(t) / float64(burst) }
	return of(p.Bus.ReadTime(burst)), of(p.Fabric.Link.Rate.Time(burst)), of(p.Bus.WriteTime(burst))
}

// claimGRIM adds what must be so of the conduit over GRIM, whatever the machine's constants are.
func (o *Outcome) claimGRIM(p *grim.Profile, ways map[string]*way) {
	fetch, link, store := perByte(p)
	bound, best, which := 1/max(fetch, link, store), 0.0, ""
	for _, kind := range categories {
		for _, rate := range ways[kind.name].rates {
			if rate.X > float64(p.GRIM.PIO) && rate.Y > best {
				best, which = rate.Y, kind.name
			}
		}
	}
	o.claim("over GRIM no category moves more than the slowest of bus reads, link and bus writes", "", best <= bound,
		"%s MB/s at most, by %s; bus reads %s, link %s, bus writes %s", figures(best), which, figures(1/fetch), figures(1/link), figures(1/store))

	var large []plot.Point
	for _, t := range ways["medium"].latency {
		if t.X > float64(p.GRIM.PIO) {
			large = append(large, t)
		}
	}
	if len(large) > 1 {
		slope, sum := leastSquares(large).slope, fetch+link+store
		o.claim("NICs store a message whole: for each byte of a Medium bus, link and bus follow each other", "", slope >= (1-boundSlack)*sum,
			"%s ns for each byte; bus, link and bus take %s", figures(1000*slope), figures(1000*sum))
	}
	medium, long := ways["medium"].latency[0], ways["long"].latency[0]
	o.claim("a Long over GRIM is two messages, so that a small one takes longer than a Medium", "", long.Y > medium.Y,
		"%s against %s µs", figures(long.Y), figures(medium.Y))
}

// unpolled are the puts and gets that hardware or firmware carries out at the target, by conduit and category.
var unpolled = map[string]string{
	"put-grim": "NICs write (RM-V)",
	"get-grim": "NICs read (RM-RV)",
	"put-sci":  "stores and DMA",
}

// claimBusy adds whether a put or a get waits for a target that computes. Half of the time is enough to tell.
func (o *Outcome) claimBusy(c *contender, name string) {
	busy, idle := c.ways[name].busy, c.ways[name].latency[0].Y
	waits := busy-idle > float64((busyTime-busyLate).Microseconds())/2
	text, holds := fmt.Sprintf("a %s over %s waits until its target polls: it is a message", name, c.network), waits
	if how, ok := unpolled[name+"-"+c.name()]; ok {
		text, holds = fmt.Sprintf("a %s over %s does not wait until its target polls: %s", name, c.network, how), !waits
	}
	o.claim(text, "", holds, "%s µs while the target computes, %s µs else", figures(busy), figures(idle))
}
