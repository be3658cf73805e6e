package plot

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Measures of the drawing, in its own units, which a viewer shows as pixels.
const (
	width      = 820.0
	plotHeight = 340.0
	margin     = 16.0
	legendMost = 240.0 // widest legend

	titleSize = 16.0 // of fonts
	textSize  = 12.0
	noteSize  = 11.0
	leading   = 1.35 // of lines, in font sizes

	// glyph is the width of a character in font sizes. Sans-serif fonts need less on
	// average, so what is laid out with it has room.
	glyph = 0.6
)

// colours can be told apart by colour-blind readers (Okabe and Ito, 2008).
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f"}

const (
	ink  = "#222222"
	grid = "#dddddd"
)

// WriteSVG writes the chart as a complete SVG document. It fails if there are no points or
// some have no place on their axis, and if w fails.
func (f *Figure) WriteSVG(w io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	d := drawing{Figure: f}
	d.layOut()
	d.draw()
	_, err := w.Write(d.out.Bytes())
	return err
}

// drawing is a figure on its way to SVG.
type drawing struct {
	*Figure
	x, y   ruler
	title  []string
	label  []string // of the vertical axis, above it
	below  []string // of the horizontal axis
	note   []string
	legend [][]string // lines of each series' name

	left, right, top, bottom float64 // of the plot
	height                   float64
	out                      bytes.Buffer
}

// layOut decides what goes where. All text is broken into lines that fit.
func (d *drawing) layOut() {
	d.x = d.ruler(&d.X, func(p Point) float64 { return p.X })
	d.y = d.ruler(&d.Y, func(p Point) float64 { return p.Y })
	d.title = wrap(d.Title, width-2*margin, titleSize)
	d.label = wrap(d.Y.Label, width-2*margin, textSize)
	d.below = wrap(d.X.Label, width-2*margin, textSize)
	d.note = wrap(d.Note, width-2*margin, noteSize)
	legendWidth, rows := 0.0, 0
	for _, s := range d.Series {
		lines := wrap(s.Name, legendMost-sampleWidth, textSize)
		d.legend = append(d.legend, lines)
		rows += max(1, len(lines))
		legendWidth = max(legendWidth, sampleWidth+widest(lines, textSize))
	}
	d.left = margin + widest(labels(d.y.ticks), textSize) + 8
	d.right = width - 2*margin - legendWidth
	d.top = margin + lines(d.title, titleSize) + lines(d.label, textSize) + 8
	d.bottom = d.top + max(plotHeight, float64(rows)*textSize*leading+8)
	d.height = d.bottom + lines([]string{""}, textSize) + lines(d.below, textSize) + 16 + lines(d.note, noteSize) + margin
}

// draw writes the document.
func (d *drawing) draw() {
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" font-family="sans-serif" font-size="%s" fill="%s" role="img" aria-label="%s">`+"\n",
		num(width), num(d.height), num(textSize), ink, escape(d.Title))
	d.printf(`<rect width="%s" height="%s" fill="#ffffff"/>`+"\n", num(width), num(d.height))
	d.text(margin, margin+titleSize, "start", titleSize, d.title)
	d.text(margin, margin+lines(d.title, titleSize)+textSize, "start", textSize, d.label)
	d.grid()
	for i := range d.Series {
		d.series(i)
	}
	d.legends()
	under := d.bottom + lines([]string{""}, textSize) + textSize + 8
	d.text((d.left+d.right)/2, under, "middle", textSize, d.below)
	d.text(margin, under+lines(d.below, textSize)+4, "start", noteSize, d.note)
	d.printf("</svg>\n")
}

// grid draws the ticks of both axes and the frame.
func (d *drawing) grid() {
	d.printf(`<g stroke="%s">`+"\n", grid)
	for _, t := range d.x.ticks {
		d.line(d.across(t.at), d.top, d.across(t.at), d.bottom)
	}
	for _, t := range d.y.ticks {
		d.line(d.left, d.up(t.at), d.right, d.up(t.at))
	}
	d.printf("</g>\n")
	free := 0.0 // where the next label may begin
	for _, t := range d.x.ticks {
		x, half := d.across(t.at), widest(some(t.label), textSize)/2
		if t.label == "" || x-half < free {
			continue
		}
		d.text(x, d.bottom+textSize+8, "middle", textSize, some(t.label))
		free = x + half + textSize/2
	}
	for _, t := range d.y.ticks {
		d.text(d.left-6, d.up(t.at)+textSize/3, "end", textSize, some(t.label))
	}
	d.printf(`<path d="M%s,%sV%sH%s" fill="none" stroke="%s"/>`+"\n", num(d.left), num(d.top), num(d.bottom), num(d.right), ink)
}

func (d *drawing) series(i int) {
	s := &d.Series[i]
	d.printf(`<g stroke="%s" fill="%s">`+"\n", d.colour(i), d.fill(i))
	if s.Kind != Published && len(s.Points) > 1 {
		var path strings.Builder
		for j, p := range s.Points {
			fmt.Fprintf(&path, "%c%s,%s", "ML"[min(j, 1)], num(d.across(d.x.place(p.X))), num(d.up(d.y.place(p.Y))))
		}
		d.printf(`<path d="%s" fill="none" stroke-width="1.5"%s/>`+"\n", &path, d.dashes(i))
	}
	for _, p := range s.Points {
		if s.Kind != Formula {
			d.mark(i, d.across(d.x.place(p.X)), d.up(d.y.place(p.Y)), fmt.Sprintf("%s: %.6g, %.6g", s.Name, p.X, p.Y))
		}
	}
	d.printf("</g>\n")
}

// sampleWidth is what the sample of a line and the space around it take in the legend.
const sampleWidth = 40.0

// legends writes the names to the right of the plot, each beside a sample of its line.
func (d *drawing) legends() {
	x, y := d.right+margin, d.top+textSize
	for i, names := range d.legend {
		middle := y - textSize/3
		d.printf(`<g stroke="%s" fill="%s">`+"\n", d.colour(i), d.fill(i))
		if d.Series[i].Kind != Published {
			d.printf(`<path d="M%s,%sh28" fill="none" stroke-width="1.5"%s/>`+"\n", num(x), num(middle), d.dashes(i))
		}
		if d.Series[i].Kind != Formula {
			d.mark(i, x+14, middle, "")
		}
		d.printf("</g>\n")
		d.text(x+sampleWidth-4, y, "start", textSize, names)
		y += float64(max(1, len(names))) * textSize * leading
	}
}

// colour returns a series' colour. What was published is black, and a formula has the colour
// of the measured series before it.
func (d *drawing) colour(i int) string {
	if d.Series[i].Kind == Published {
		return ink
	}
	measured := 0
	for _, s := range d.Series[:i+1] {
		if s.Kind == Measured {
			measured++
		}
	}
	return colours[max(0, measured-1)%len(colours)]
}

func (d *drawing) fill(i int) string {
	if d.Series[i].Kind == Published {
		return "none"
	}
	return d.colour(i)
}

func (d *drawing) dashes(i int) string {
	if d.Series[i].Kind == Formula {
		return ` stroke-dasharray="6 4"`
	}
	return ""
}

// mark draws a point, in a form of its own for each series. A viewer shows about when the
// pointer rests on it.
func (d *drawing) mark(i int, x, y float64, about string) {
	r, stroke := 3.0, ""
	if d.Series[i].Kind == Published {
		r, stroke = 6, ` stroke-width="2"`
	}
	shapes := []func() string{
		func() string {
			return fmt.Sprintf("M%s,%sa%s,%s 0 1 0 %s,0a%s,%s 0 1 0 %s,0Z", num(x-r), num(y), num(r), num(r), num(2*r), num(r), num(r), num(-2*r))
		},
		func() string {
			return fmt.Sprintf("M%s,%sh%sv%sh%sZ", num(x-r), num(y-r), num(2*r), num(2*r), num(-2*r))
		},
		func() string {
			return fmt.Sprintf("M%s,%sl%s,%sh%sZ", num(x), num(y-r-1), num(r+1), num(2*r+1), num(-2*r-2))
		},
		func() string {
			return fmt.Sprintf("M%s,%sl%s,%sl%s,%sl%s,%sZ", num(x), num(y-r-1), num(r+1), num(r+1), num(-r-1), num(r+1), num(-r-1), num(-r-1))
		},
	}
	d.printf(`<path d="%s"%s>`, shapes[i%len(shapes)](), stroke)
	if about != "" {
		d.printf("<title>%s</title>", escape(about))
	}
	d.printf("</path>\n")
}

func (d *drawing) line(x1, y1, x2, y2 float64) {
	d.printf(`<path d="M%s,%sL%s,%s"/>`+"\n", num(x1), num(y1), num(x2), num(y2))
}

// text writes lines, the base line of the first at y.
func (d *drawing) text(x, y float64, anchor string, size float64, text []string) {
	for _, line := range text {
		d.printf(`<text x="%s" y="%s" text-anchor="%s" font-size="%s">%s</text>`+"\n", num(x), num(y), anchor, num(size), escape(line))
		y += size * leading
	}
}

// across and up turn a place on an axis into a coordinate.
func (d *drawing) across(at float64) float64 { return d.left + at*(d.right-d.left) }
func (d *drawing) up(at float64) float64     { return d.bottom - at*(d.bottom-d.top) }

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(&d.out, format, args...) }

// num writes a coordinate, to a hundredth: rounding errors that differ between processors
// do not show.
func num(v float64) string {
	s := strconv.FormatFloat(v, 'f', 2, 64)
	s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	if s == "-0" || s == "-" || s == "" {
		return "0"
	}
	return s
}

func escape(s string) string {
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(s)) // a bytes.Buffer does not fail
	return b.String()
}

// lines returns the height of lines of a font size.
func lines(text []string, size float64) float64 { return float64(len(text)) * size * leading }

func widest(text []string, size float64) float64 {
	most := 0
	for _, line := range text {
		most = max(most, utf8.RuneCountInString(line))
	}
	return float64(most) * size * glyph
}

func labels(ticks []tick) []string {
	var l []string
	for _, t := range ticks {
		l = append(l, t.label)
	}
	return l
}

// some returns a line if there is one.
func some(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// wrap breaks text into lines of at most the given width, at spaces where it can.
func wrap(text string, width, size float64) []string {
	most := max(1, int(width/(size*glyph)))
	var out []string
	for line := range strings.Lines(strings.ToValidUTF8(text, "\uFFFD")) {
		words := strings.Fields(line)
		current := ""
		for len(words) > 0 {
			w := words[0]
			switch room := most - utf8.RuneCountInString(current); {
			case current != "" && utf8.RuneCountInString(w) < room:
				current, words = current+" "+w, words[1:]
			case current != "":
				out, current = append(out, current), ""
			case utf8.RuneCountInString(w) <= most:
				current, words = w, words[1:]
			default: // a word longer than a line
				cut := len(string([]rune(w)[:most]))
				out, words[0] = append(out, w[:cut]), w[cut:]
			}
		}
		out = append(out, some(current)...)
	}
	return out
}
