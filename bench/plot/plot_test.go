package plot_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/aqueduct-go/aqueduct/bench/plot"
)

var update = flag.Bool("update", false, "write testdata/golden.svg anew")

// example has every scale but one, every kind, and text that must be escaped.
func example() *plot.Figure {
	return &plot.Figure{
		Title: "Latency of <short> & medium",
		Note:  "Machine d339; reproduce: aqbench paper sci-medium",
		X:     plot.Axis{Label: "payload, bytes", Scale: plot.Log2},
		Y:     plot.Axis{Label: "half round trip, µs", Scale: plot.Log10},
		Series: []plot.Series{
			{Name: "model", Points: []plot.Point{{X: 1, Y: 3}, {X: 32, Y: 3.25}, {X: 1024, Y: 11.5}, {X: 65536, Y: 420}}},
			{Name: "a + b·size", Kind: plot.Formula, Points: []plot.Point{{X: 1, Y: 3}, {X: 65536, Y: 400}}},
			{Name: "published", Kind: plot.Published, Points: []plot.Point{{X: 80, Y: 3.16}}},
		},
	}
}

func svg(t interface{ Fatal(...any) }, f *plot.Figure) []byte {
	var b bytes.Buffer
	if err := f.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	const path = "testdata/golden.svg"
	got := svg(t, example())
	if *update {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the drawing has changed; look at it, then go test -update. Now:\n%s", got)
	}
}

// text is a line of text in a drawing.
type text struct {
	X      float64 `xml:"x,attr"`
	Y      float64 `xml:"y,attr"`
	Anchor string  `xml:"text-anchor,attr"`
	Size   float64 `xml:"font-size,attr"`
	Text   string  `xml:",chardata"`
}

// box returns what the line covers, with characters as wide as a wide sans-serif font has
// them on average.
func (l *text) box() (left, top, right, bottom float64) {
	w := 0.6 * l.Size * float64(utf8.RuneCountInString(l.Text))
	left = l.X
	switch l.Anchor {
	case "middle":
		left -= w / 2
	case "end":
		left -= w
	}
	return left, l.Y - l.Size, left + w, l.Y + l.Size/4
}

// read returns the size of a drawing and all its text.
func read(t interface{ Fatal(...any) }, doc []byte) (width, height float64, texts []text) {
	d := xml.NewDecoder(bytes.NewReader(doc))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return width, height, texts
		}
		if err != nil {
			t.Fatal(err, "in", string(doc))
		}
		start, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "svg":
			for _, a := range start.Attr {
				if a.Name.Local == "viewBox" {
					var size [4]float64
					for i, s := range strings.Fields(a.Value) {
						if size[i], err = strconv.ParseFloat(s, 64); err != nil {
							t.Fatal(err)
						}
					}
					width, height = size[2], size[3]
				}
			}
		case "text":
			var l text
			if err := d.DecodeElement(&l, &start); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, l)
		}
	}
}

// TestInside draws arbitrary figures: each is well-formed, all its text lies inside, no two
// texts overlap, and a second drawing has the same bytes.
func TestInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyFigure(t)
		doc := svg(t, f)
		if !bytes.Equal(doc, svg(t, f)) {
			t.Fatal("two drawings differ")
		}
		width, height, texts := read(t, doc)
		for i := range texts {
			l, top, r, b := texts[i].box()
			if l < -0.01 || top < -0.01 || r > width+0.01 || b > height+0.01 {
				t.Fatalf("%q leaves the drawing of %g×%g: %g to %g, %g to %g", texts[i].Text, width, height, l, r, top, b)
			}
			for j := range i {
				l2, top2, r2, b2 := texts[j].box()
				if min(r, r2)-max(l, l2) > 0.01 && min(b, b2)-max(top, top2) > 0.01 {
					t.Fatalf("%q and %q overlap", texts[i].Text, texts[j].Text)
				}
			}
		}
	})
}

func anyFigure(t *rapid.T) *plot.Figure {
	words := rapid.StringOfN(rapid.RuneFrom([]rune("abc <&>\"µ\x00 \n")), 0, 200, -1)
	scales := rapid.SampledFrom([]plot.Scale{plot.Linear, plot.Log10, plot.Log2})
	f := &plot.Figure{
		Title: words.Draw(t, "title"), Note: words.Draw(t, "note"),
		X: plot.Axis{Label: words.Draw(t, "x"), Scale: scales.Draw(t, "x scale")},
		Y: plot.Axis{Label: words.Draw(t, "y"), Scale: scales.Draw(t, "y scale")},
	}
	value := func(s plot.Scale, name string) float64 {
		v := rapid.Float64Range(0.1, 10).Draw(t, name) * math.Pow(10, float64(rapid.IntRange(-12, 12).Draw(t, "exponent")))
		if s == plot.Linear && rapid.Bool().Draw(t, "negative") {
			v = -v
		}
		return v
	}
	for range rapid.IntRange(1, 9).Draw(t, "series") {
		s := plot.Series{Name: words.Draw(t, "name"), Kind: plot.Kind(rapid.IntRange(0, 2).Draw(t, "kind"))}
		for range rapid.IntRange(1, 5).Draw(t, "points") {
			s.Points = append(s.Points, plot.Point{X: value(f.X.Scale, "x"), Y: value(f.Y.Scale, "y")})
		}
		f.Series = append(f.Series, s)
	}
	return f
}

// TestTicks looks at the labels of axes.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		scale     plot.Scale
		low, high float64
		want      string
	}{
		{plot.Linear, 0, 10, "0 2 4 6 8 10"},
		{plot.Linear, 3, 4.1, "0 1 2 3 4 5"},
		{plot.Linear, 0, 0, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{plot.Linear, -3, 5, "-4 -2 0 2 4 6"},
		{plot.Linear, 0, 0.034, "0.000 0.005 0.010 0.015 0.020 0.025 0.030 0.035"},
		{plot.Log10, 3, 420, "1 10 100 1000"},
		{plot.Log10, 3, 42, "1 2 5 10 20 50 100"},
		{plot.Log10, 1, 1, "1 2 5 10"},
		{plot.Log10, 0.2, 1e7, "0.1 1 10 100 1000 10000 100000 10⁶ 10⁷"},
		{plot.Log10, 1e-20, 1e20, "10⁻²⁰ 10⁻¹⁶ 10⁻¹² 10⁻⁸ 10⁻⁴ 1 10000 10⁸ 10¹² 10¹⁶ 10²⁰"},
		{plot.Log2, 8, 1 << 20, "8 32 128 512 2K 8K 32K 128K 512K"},
		{plot.Log2, 16, 512, "16 32 64 128 256 512"},
		{plot.Log2, 0.25, 3, "0.25 0.5 1 2 4"},
		{plot.Log2, 7, 7, "4 8"},
		{plot.Log2, 8, 8, "8 16"},
	} {
		f := &plot.Figure{
			X:      plot.Axis{Scale: c.scale},
			Series: []plot.Series{{Points: []plot.Point{{X: c.low, Y: 0}, {X: c.high, Y: 0}}}},
		}
		_, _, texts := read(t, svg(t, f))
		var got []string
		last := math.Inf(-1)
		for _, l := range texts {
			if l.Anchor == "middle" {
				got = append(got, l.Text)
				if l.X <= last {
					t.Errorf("scale %d, %g to %g: ticks do not ascend: %v", c.scale, c.low, c.high, got)
				}
				last = l.X
			}
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("scale %d, %g to %g: %s\nwant %s", c.scale, c.low, c.high, got, c.want)
		}
	}
}

// TestRefused wants points that have no place to be named.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		spoil func(*plot.Figure)
		says  string
	}{
		{func(f *plot.Figure) { f.Series = nil }, "no points"},
		{func(f *plot.Figure) { f.Series = []plot.Series{{Name: "none"}} }, "no points"},
		{func(f *plot.Figure) { f.Series[0].Points[1].Y = math.NaN() }, "NaN is no place"},
		{func(f *plot.Figure) { f.Series[1].Points[0].X = math.Inf(1) }, `"a + b·size"`},
		{func(f *plot.Figure) { f.Series[0].Points[0].X = 0 }, "logarithmic"},
		{func(f *plot.Figure) { f.Series[2].Points[0].Y = -1 }, `"published"`},
	} {
		f := example()
		c.spoil(f)
		var b bytes.Buffer
		if err := f.WriteSVG(&b); err == nil || !strings.Contains(err.Error(), c.says) || b.Len() > 0 {
			t.Errorf("error %v and %d bytes; want %q and none", err, b.Len(), c.says)
		}
	}
}

// failing is a writer that fails.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriterFails(t *testing.T) {
	if err := example().WriteSVG(failing{}); !errors.Is(err, io.ErrShortWrite) {
		t.Error(err)
	}
}
