// Package topology draws Myrinet topologies as SVG: switches by their levels in the spanning tree, hosts, a route with
// its in-transit hosts, and how busy the channels have been.
package topology

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/fabric"
	"github.com/aqueduct-go/aqueduct/conduits/myrinet/routing"
	"github.com/aqueduct-go/aqueduct/internal/plural"
)

// Picture is what is drawn of a topology.
type Picture struct {
	Table    *routing.Table
	Route    routing.Route // nil: none
	From, To int           // hosts of the route
	Load     []float64     // how busy each channel has been, of 1; nil: not known
	Note     string        // written below
}

// Measures of the drawing, in its own units, which a viewer shows as pixels.
const (
	column  = 96.0 // from switch to switch
	row     = 130.0
	box     = 46.0 // of a switch
	dot     = 4.5  // of a host
	margin  = 50.0
	letter  = 11.0
	wide    = 5.0 // of a route
	bend    = 34.0
	heading = 40.0
	least   = 820.0 // width of the drawing, for its text
	small   = 8.0   // letters of hosts
	apart   = 21.0  // hosts of a switch
)

// point is a place in the drawing.
type point struct{ x, y float64 }

// drawing is a picture on its way to SVG.
type drawing struct {
	*Picture
	t        *fabric.Topology
	cabling  *fabric.Cabling
	switches []point
	hosts    []point
	transit  map[int]bool
	out      bytes.Buffer
	width    float64
	height   float64
}

// WriteSVG writes the picture as a complete SVG document. It fails if w does, or if there are not as many loads as
// channels.
func (p *Picture) WriteSVG(w io.Writer) error {
	t := p.Table.Topology()
	if p.Load != nil && len(p.Load) != 2*len(t.Links) {
		return fmt.Errorf("%d loads for %d channels", len(p.Load), 2*len(t.Links))
	}
	d := drawing{Picture: p, t: t, cabling: t.Cabling(), transit: make(map[int]bool)}
	if p.Route != nil {
		for _, h := range p.Table.Transit(p.Route) {
			d.transit[h] = true
		}
	}
	d.layOut()
	d.draw()
	_, err := w.Write(d.out.Bytes())
	return err
}

// layOut places switches of one level in a row, each near those above that it is joined to, and hosts below theirs.
func (d *drawing) layOut() {
	tree := d.Table.Tree()
	var rows [][]int
	for s, level := range tree.Level {
		if level < 0 {
			level = slices.Max(tree.Level) + 1 // not reached from the root
		}
		for len(rows) <= level {
			rows = append(rows, nil)
		}
		rows[level] = append(rows[level], s)
	}
	widest := 1
	for _, r := range rows {
		widest = max(widest, len(r))
	}
	d.width = max(least, 2*margin+float64(widest)*column)
	d.height = heading + 2*margin + float64(len(rows))*row
	d.switches = make([]point, len(d.t.Switches))
	for i, r := range rows {
		wanted := make(map[int]float64)
		for _, s := range r {
			wanted[s] = d.above(s, i)
		}
		slices.SortStableFunc(r, func(a, b int) int {
			switch {
			case wanted[a] < wanted[b]:
				return -1
			case wanted[a] > wanted[b]:
				return 1
			}
			return 0
		})
		step := (d.width - 2*margin) / float64(len(r))
		for j, s := range r {
			d.switches[s] = point{margin + step*(float64(j)+0.5), heading + margin + float64(i)*row}
		}
	}
	d.hosts = make([]point, len(d.t.Hosts))
	below := make([]int, len(d.t.Switches))
	loose := 0
	for h := range d.t.Hosts {
		if s := d.switchOf(h); s >= 0 {
			n := d.hostsOf(s)
			// n/2 keeps the place straight below the switch free, for a link to the next row.
			d.hosts[h] = point{d.switches[s].x + (float64(below[s])-float64(n/2)+0.5)*apart, d.switches[s].y + box/2 + 26}
			below[s]++
			continue
		}
		d.hosts[h] = point{margin + float64(loose)*4*dot, d.height - margin}
		loose++
	}
}

// above returns where a switch would best be: below the middle of those above it.
func (d *drawing) above(s, level int) float64 {
	sum, n := 0.0, 0
	for i := range d.t.Links {
		for j, e := range d.t.Links[i].Ends {
			o := d.t.Links[i].Ends[1-j]
			if !e.Host && e.Index == s && !o.Host && d.Table.Tree().Level[o.Index] == level-1 && level > 0 {
				sum += d.switches[o.Index].x
				n++
			}
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// switchOf returns the switch that a host is cabled to, or -1.
func (d *drawing) switchOf(h int) int {
	link := d.cabling.Link(fabric.HostEnd(h))
	if link < 0 {
		return -1
	}
	if e := d.t.Links[link].Other(fabric.HostEnd(h)); !e.Host {
		return e.Index
	}
	return -1
}

func (d *drawing) hostsOf(s int) (n int) {
	for h := range d.t.Hosts {
		if d.switchOf(h) == s {
			n++
		}
	}
	return n
}

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(&d.out, format, args...) }

func num(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) }

// escape returns a text as XML has it; what XML cannot have is replaced.
func escape(s string) string {
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(s)) // a buffer takes everything
	return b.String()
}

func (d *drawing) text(x, y float64, anchor, s string) {
	d.printf(`<text x="%s" y="%s" text-anchor="%s">%s</text>`+"\n", num(x), num(y), anchor, escape(s))
}

func (d *drawing) draw() {
	title := d.t.About
	if title == "" {
		title = "a topology"
	}
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" font-family="sans-serif" font-size="%s" fill="#222222" role="img" aria-label="%s">`+"\n",
		num(d.width), num(d.height), num(letter), escape(title))
	d.printf(`<rect width="%s" height="%s" fill="#ffffff"/>`+"\n", num(d.width), num(d.height))
	d.text(margin, 24, "start", fmt.Sprintf("%s: %s, %s; %v routes, root %s", title, plural.Count(len(d.t.Switches), "switch", "switches"), plural.Count(len(d.t.Hosts), "host", "hosts"),
		d.Table.Scheme, d.t.Switches[d.Table.Tree().Root].Name))
	d.text(margin, 24+1.5*letter, "start", "Thick: the spanning tree, its root at the top. Triangles point to the up ends of links.")
	for i := range d.t.Links {
		d.link(i)
	}
	for _, leg := range d.Route {
		for _, c := range leg {
			d.printf(`<path class="route" d="%s" fill="none" stroke="#0072b2" stroke-opacity="0.55" stroke-width="%s" stroke-linecap="round"/>`+"\n", d.curve(c), num(wide))
		}
	}
	for i := range d.t.Links {
		d.label(i)
	}
	for s, p := range d.switches {
		d.printf(`<rect x="%s" y="%s" width="%s" height="%s" rx="5" fill="#f4f4f4" stroke="#222222"/>`+"\n", num(p.x-box/2), num(p.y-box/4), num(box), num(box/2))
		d.text(p.x, p.y+letter/3, "middle", d.t.Switches[s].Name)
	}
	for h, p := range d.hosts {
		d.host(h, p)
	}
	if d.Load != nil {
		d.scale()
	}
	d.text(margin, d.height-14, "start", d.Note)
	d.printf("</svg>\n")
}

// place returns where an end of a link is.
func (d *drawing) place(e fabric.End) point {
	if e.Host {
		return d.hosts[e.Index]
	}
	return d.switches[e.Index]
}

// curve returns the path of a channel: the two of a link lie side by side, and links along a row are bent.
func (d *drawing) curve(c int) string {
	from, to := routing.Ends(d.t, c)
	a, b := d.place(from), d.place(to)
	if from.Host || to.Host {
		return fmt.Sprintf("M%s,%sL%s,%s", num(a.x), num(a.y), num(b.x), num(b.y))
	}
	if from.Index == to.Index { // a cable from a switch to itself
		return fmt.Sprintf("M%s,%sc40,-40 -40,-40 0,0", num(a.x), num(a.y))
	}
	length := math.Hypot(b.x-a.x, b.y-a.y)
	across := point{-(b.y - a.y) / length, (b.x - a.x) / length}
	// The order of ports tells parallel links apart.
	off := 3 + 3*float64(c/2%3)
	mid := point{(a.x+b.x)/2 + across.x*off, (a.y+b.y)/2 + across.y*off}
	if a.y == b.y {
		mid.y -= bend
	}
	return fmt.Sprintf("M%s,%sQ%s,%s %s,%s", num(a.x), num(a.y), num(mid.x), num(mid.y), num(b.x), num(b.y))
}

// link draws both channels of a link in the colours of their loads.
func (d *drawing) link(i int) {
	l := &d.t.Links[i]
	strokes := 1.2
	for _, parent := range d.Table.Tree().Parent {
		if parent == i {
			strokes = 2.6
		}
	}
	for c := 2 * i; c <= 2*i+1; c++ {
		colour, busy := "#999999", ""
		if d.Load != nil {
			colour, busy = heat(d.Load[c]), fmt.Sprintf(", busy %.0f %%", 100*d.Load[c])
		}
		from, to := l.Ends[c%2], l.Ends[1-c%2]
		d.printf(`<path d="%s" fill="none" stroke="%s" stroke-width="%s"><title>%s to %s%s</title></path>`+"\n", d.curve(c), colour, num(strokes),
			escape(d.t.EndName(from)), escape(d.t.EndName(to)), busy)
	}
}

// label draws a triangle that points to the up end of a link between two switches.
func (d *drawing) label(i int) {
	from, to := routing.Ends(d.t, 2*i)
	if from.Host || to.Host || from.Index == to.Index {
		return
	}
	if !d.Table.Tree().Up(from.Index, to.Index) {
		from, to = to, from
	}
	a, b := d.place(from), d.place(to)
	length := math.Hypot(b.x-a.x, b.y-a.y)
	along := point{(b.x - a.x) / length, (b.y - a.y) / length}
	tip := point{b.x - along.x*box*0.9, b.y - along.y*box*0.9}
	if a.y == b.y {
		tip.y -= bend / 3
	}
	const size = 6
	d.printf(`<path class="up" d="M%s,%sL%s,%sL%s,%sZ" fill="#222222"/>`+"\n", num(tip.x), num(tip.y),
		num(tip.x-along.x*size-along.y*size/2), num(tip.y-along.y*size+along.x*size/2),
		num(tip.x-along.x*size+along.y*size/2), num(tip.y-along.y*size-along.x*size/2))
}

// heat returns the colour of a load: from light grey by yellow to dark red, each darker than the one before, so that
// it is to be read without colours too.
func heat(load float64) string {
	stops := [][3]float64{{0xdd, 0xdd, 0xdd}, {0xf6, 0xc3, 0x4c}, {0xd9, 0x4a, 0x1e}, {0x7a, 0x05, 0x10}}
	at := min(max(load, 0), 1) * float64(len(stops)-1)
	i := min(int(at), len(stops)-2)
	var c [3]int
	for j := range c {
		c[j] = int(stops[i][j] + (stops[i+1][j]-stops[i][j])*(at-float64(i)))
	}
	return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2])
}

// scale draws what the colours mean.
func (d *drawing) scale() {
	const n, step = 11, 16.0
	x, y := d.width-margin-n*step-40, d.height-44
	for i := range n {
		d.printf(`<rect x="%s" y="%s" width="%s" height="8" fill="%s"/>`+"\n", num(x+float64(i)*step), num(y), num(step), heat(float64(i)/(n-1)))
	}
	d.text(x-4, y+8, "end", "busy 0 %")
	d.text(x+n*step+4, y+8, "start", "100 %")
}

// host draws a host: filled at the ends of the route, with a ring in transit.
func (d *drawing) host(h int, p point) {
	fill := "#ffffff"
	if d.Route != nil && (h == d.From || h == d.To) {
		fill = "#0072b2"
	}
	ring := ""
	if d.transit[h] {
		fill, ring = "#d55e00", ", in transit"
		d.printf(`<circle class="transit" cx="%s" cy="%s" r="%s" fill="none" stroke="#d55e00" stroke-width="2"/>`+"\n", num(p.x), num(p.y), num(2*dot))
	}
	d.printf(`<circle cx="%s" cy="%s" r="%s" fill="%s" stroke="#222222"><title>%s%s</title></circle>`+"\n", num(p.x), num(p.y), num(dot), fill, escape(d.t.Hosts[h]), ring)
	if len(d.t.Hosts) <= 40 || fill != "#ffffff" {
		d.printf(`<text x="%s" y="%s" text-anchor="middle" font-size="%s">%s</text>`+"\n", num(p.x), num(p.y+2*dot+small), num(small), escape(d.t.Hosts[h]))
	}
}
