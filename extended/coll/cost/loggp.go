package cost

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// LogGP is the model of Alexandrov, Ionescu, Schauser and Scheiman (LogGP: incorporating long
// messages into the LogP model, SPAA 1995), with the times of computation that Hoefler's
// LogGOPS adds. A rank's interface sends one message after the other and has room for any
// number that wait, so Gap holds up messages and not processors. All times are at least 0.
type LogGP struct {
	Latency      vtime.Time // L: from the last byte's leaving to its arrival
	SendOverhead vtime.Time // o of the sender, whose message leaves after it
	RecvOverhead vtime.Time // o of the receiver, for a message that is awaited
	SendGap      vtime.Time // g: of the sender's interface, per message
	RecvGap      vtime.Time // g: from one receive of a rank to its next one, at least
	Scan         vtime.Time // of the receiver, per message and rank of the job: looking at every rank's flag

	ByteGap Rate // G: of the sender's interface, per byte; paid for all k bytes, so that a signal is no special case
	Copy    Rate // of a processor that copies, per byte
	Combine Rate // of a processor that reduces, per byte of the result
}

// Rate is a time per byte, in picoseconds.
type Rate float64

// of returns the time of n bytes, rounded to the picosecond.
func (r Rate) of(n int) vtime.Time { return vtime.Time(math.Round(float64(r) * float64(n))) }

// Model returns the model of so many ranks, whose ranks are independent.
func (p LogGP) Model(ranks int) Model {
	m := &loggp{LogGP: p, sent: make([]vtime.Time, ranks), scan: p.Scan * vtime.Time(ranks)}
	if p.RecvGap > 0 {
		m.got = make([]vtime.Time, ranks)
	}
	return m
}

// loggp is a run of LogGP.
type loggp struct {
	LogGP
	sent []vtime.Time // by rank: when its interface can send the next message
	got  []vtime.Time // by rank: when it can receive the next one; nil without RecvGap
	scan vtime.Time   // per message received
}

var _ Independent = (*loggp)(nil)

func (m *loggp) Independent() {}

func (m *loggp) Send(src, _, bytes int, now vtime.Time) (free, arrival vtime.Time) {
	free = now + m.SendOverhead
	left := max(free, m.sent[src]) + m.ByteGap.of(bytes)
	m.sent[src] = left + m.SendGap
	return free, left + m.Latency
}

func (m *loggp) Receive(dst, _, _ int, since, arrival vtime.Time) vtime.Time {
	start := max(since, arrival)
	if m.got != nil {
		start = max(start, m.got[dst])
		m.got[dst] = start + m.RecvGap
	}
	return start + m.RecvOverhead + m.scan
}

func (m *loggp) Copy(_, bytes int, now vtime.Time) vtime.Time { return now + m.LogGP.Copy.of(bytes) }

func (m *loggp) Combine(_, bytes int, now vtime.Time) vtime.Time {
	return now + m.LogGP.Combine.of(bytes)
}

// parameters are those of LogGP by name, in the order of String.
var parameters = []struct {
	name string
	time func(*LogGP) *vtime.Time
	rate func(*LogGP) *Rate // if time is nil
}{
	{name: "L", time: func(p *LogGP) *vtime.Time { return &p.Latency }},
	{name: "os", time: func(p *LogGP) *vtime.Time { return &p.SendOverhead }},
	{name: "or", time: func(p *LogGP) *vtime.Time { return &p.RecvOverhead }},
	{name: "gs", time: func(p *LogGP) *vtime.Time { return &p.SendGap }},
	{name: "gr", time: func(p *LogGP) *vtime.Time { return &p.RecvGap }},
	{name: "scan", time: func(p *LogGP) *vtime.Time { return &p.Scan }},
	{name: "G", rate: func(p *LogGP) *Rate { return &p.ByteGap }},
	{name: "copy", rate: func(p *LogGP) *Rate { return &p.Copy }},
	{name: "combine", rate: func(p *LogGP) *Rate { return &p.Combine }},
}

// pairs are names that stand for two parameters each.
var pairs = map[string][]string{"o": {"os", "or"}, "g": {"gs", "gr"}}

// String returns the parameters that are not 0, as ParseProfile reads them.
func (p LogGP) String() string {
	var parts []string
	for _, x := range parameters {
		if x.time != nil {
			if t := *x.time(&p); t != 0 {
				parts = append(parts, x.name+"="+t.String())
			}
		} else if r := *x.rate(&p); r != 0 {
			parts = append(parts, x.name+"="+strconv.FormatFloat(float64(r), 'g', -1, 64)+"ps")
		}
	}
	return loggpPrefix + strings.Join(parts, ",")
}

const loggpPrefix = "loggp:"

// ParseProfile reads a cost model. There are two kinds: LogGP, and Cluster, of hosts with so many ranks and two of the
// former, within a host and between hosts:
//
//	loggp:L=1us,o=300ns,g=200ns,G=0.8ns
//	cluster:8/loggp:L=100ns,o=50ns/loggp:L=1us,o=300ns
//
// LogGP is given by the parameters L, os and or (o: both), gs and gr (g: both), scan, and, per byte, G,
// copy and combine; see LogGP. What is not given is 0. Units are ps, ns, us, ms and s.
func ParseProfile(text string) (Profile, error) {
	if list, ok := strings.CutPrefix(text, clusterPrefix); ok {
		return parseCluster(list)
	}
	p, err := parseLogGP(text)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// parseLogGP reads a LogGP.
func parseLogGP(text string) (p LogGP, err error) {
	list, ok := strings.CutPrefix(text, loggpPrefix)
	if !ok {
		return p, fmt.Errorf("cost: no model %q; want %sL=1us,o=300ns,… or %sRANKS/NEAR/FAR", text, loggpPrefix, clusterPrefix)
	}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(list, ",") {
		if part == "" && list == "" {
			break
		}
		name, value, _ := strings.Cut(part, "=")
		ps, err := parseTime(value)
		if err != nil {
			return p, fmt.Errorf("cost: parameter %q of %q: %w", name, text, err)
		}
		for _, name := range both(name) {
			if seen[name] {
				return p, fmt.Errorf("cost: %s is given twice in %q", name, text)
			}
			seen[name] = true
			if err := p.set(name, ps); err != nil {
				return p, err
			}
		}
	}
	return p, nil
}

// both returns the names that a name stands for.
func both(name string) []string {
	if two := pairs[name]; two != nil {
		return two
	}
	return []string{name}
}

// set sets a parameter to so many picoseconds.
func (p *LogGP) set(name string, ps float64) error {
	var names []string
	for _, x := range parameters {
		switch {
		case x.name != name:
			names = append(names, x.name)
			continue
		case x.time != nil:
			*x.time(p) = vtime.Time(math.Round(ps))
		default:
			*x.rate(p) = Rate(ps)
		}
		return nil
	}
	return fmt.Errorf("cost: LogGP has no parameter %q; there are o, g, %s", name, strings.Join(names, ", "))
}

// units of a time, longer names first where one ends in another.
var units = []struct {
	name string
	ps   float64
}{{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"µs", 1e6}, {"ms", 1e9}, {"s", 1e12}}

// maxTime bounds a parameter, in picoseconds: an hour.
const maxTime = 3600e12

// parseTime reads a time as picoseconds and their fractions; 0 needs no unit.
func parseTime(s string) (ps float64, err error) {
	if s == "0" {
		return 0, nil
	}
	i := slices.IndexFunc(units, func(u struct {
		name string
		ps   float64
	}) bool {
		return strings.HasSuffix(s, u.name)
	})
	if i < 0 {
		return 0, fmt.Errorf("%q is no time such as 1.5us", s)
	}
	x, err := strconv.ParseFloat(strings.TrimSuffix(s, units[i].name), 64)
	if ps = x * units[i].ps; err != nil || !(ps >= 0 && ps <= maxTime) {
		return 0, fmt.Errorf("%q is no time from 0 to an hour", s)
	}
	return ps, nil
}
