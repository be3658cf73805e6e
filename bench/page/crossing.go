package page

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aqueduct-go/aqueduct/bench/plot"
)

// A crossing is a place where the curve of one conduit passes that of another.
type crossing struct {
	Figure   string // and which of its curves, beside the networks
	At       string // payload, or number of ranks
	Sentence string
}

// crossings returns where curves of the chart that differ by conduit or profile alone pass each other.
func (c *chart) crossings(v *view) []crossing {
	var list []crossing
	for i := range c.Series {
		for j := range i {
			if !rivals(c.first[i], c.first[j]) {
				continue
			}
			for _, x := range cross(c.Series[j].Points, c.Series[i].Points) {
				before, after := c.first[j].over(), c.first[i].over()
				if x.below == v.more { // the first is below before the crossing, and so not the better one
					before, after = after, before
				}
				at := binary(x.at)
				if v.ranks {
					at = strconv.FormatFloat(x.at, 'f', 0, 64) + " ranks"
				}
				figure := strings.TrimSuffix(v.title+": "+strings.TrimPrefix(c.Series[i].Name[len(c.first[i].over()):], ", "), ": ")
				list = append(list, crossing{figure, at, fmt.Sprintf("Up to about %s %s is faster, and above it %s.", at, before, after)})
			}
		}
	}
	return list
}

// rivals reports whether two results are of the same operation over different networks.
func rivals(a, b *result) bool {
	pa, pb := maps.Clone(a.Params), maps.Clone(b.Params)
	for _, k := range []string{"conduit", "profile"} {
		delete(pa, k)
		delete(pb, k)
	}
	return a.over() != b.over() && maps.Equal(pa, pb)
}

// passing is where two curves meet. below says that the first was below the second before.
type passing struct {
	at    float64
	below bool
}

// cross returns where b passes a, by straight lines between points on logarithmic axes, as the figures have them. Curves
// that touch without passing do not cross. Points are in ascending order of X; all are above zero.
func cross(a, b []plot.Point) (list []passing) {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	low, high := max(a[0].X, b[0].X), min(a[len(a)-1].X, b[len(b)-1].X)
	var xs []float64
	for _, p := range slices.Concat(a, b) {
		if p.X >= low && p.X <= high {
			xs = append(xs, p.X)
		}
	}
	slices.Sort(xs)
	lastX, last := 0.0, 0.0 // where the curves differed last, and by how much
	for _, x := range slices.Compact(xs) {
		d := between(a, x) - between(b, x)
		if d == 0 {
			continue
		}
		if last != 0 && (last < 0) != (d < 0) {
			lx, ln := math.Log(lastX), math.Log(x)
			list = append(list, passing{math.Exp(lx + (ln-lx)*last/(last-d)), last < 0})
		}
		lastX, last = x, d
	}
	return list
}

// between returns the logarithm of the curve at x, which lies within it.
func between(points []plot.Point, x float64) float64 {
	i := slices.IndexFunc(points, func(p plot.Point) bool { return p.X >= x })
	q := points[i]
	if q.X == x {
		return math.Log(q.Y)
	}
	p := points[i-1]
	f := (math.Log(x) - math.Log(p.X)) / (math.Log(q.X) - math.Log(p.X))
	return math.Log(p.Y) + f*(math.Log(q.Y)-math.Log(p.Y))
}

// binary writes a number of bytes in the largest unit that leaves at least one.
func binary(bytes float64) string {
	unit := 0
	for bytes >= 1024 && unit < 4 {
		bytes, unit = bytes/1024, unit+1
	}
	return strconv.FormatFloat(bytes, 'g', 3, 64) + " " + []string{"bytes", "KiB", "MiB", "GiB", "TiB"}[unit]
}
