package page_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/bench"
	"github.com/aqueduct-go/aqueduct/bench/page"
)

// conduit is what the lines of one follow: so many nanoseconds for a message and for a byte.
type conduit struct {
	name, profile, mode string
	message, byte       float64
}

// conduits cross: the second of each mode has the larger start and the smaller cost of a byte. The live ones meet at (9000-700)/(0.6-0.1) bytes.
var conduits = []conduit{
	{"sci", "live", "live", 700, 0.6},
	{"udp", "none", "live", 9000, 0.1},
	{"sci", "d339-2003", "modelled", 5000, 6},
	{"myrinet", "grim-lanai9", "modelled", 9000, 3},
}

// samples vary by so many percent, evenly: their 5th and 95th percentiles are known.
func samples(ns float64, metrics map[string]float64) (list []bench.Sample) {
	for i := range 21 {
		list = append(list, bench.Sample{Ns: ns * (1 + float64(i-10)/100), Metrics: metrics})
	}
	return list
}

// lines writes what aqbench writes, by the encoder that it has.
func lines(t testing.TB) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	enc, err := bench.NewEncoder("json", &out)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range conduits {
		h := bench.Conditions()
		h.Conduit, h.Profile, h.Mode, h.Threads, h.Ranks, h.Pinning = n.name, n.profile, n.mode, "single", 2, "0,1"
		series := func(title, op, category string, quantity bench.Quantity, axis bench.Axis, results ...bench.Result) bench.Series {
			params := []bench.Param{{Key: "op", Value: op}, {Key: "conduit", Value: n.name}, {Key: "profile", Value: n.profile}, {Key: "threads", Value: "single"}}
			if category != "" {
				params = append(params, bench.Param{Key: "category", Value: category})
			}
			return bench.Series{Family: "AM", Title: title, Params: params, Quantity: quantity, Axis: axis, Results: results,
				Against: []bench.Param{{Key: "x-floor", Value: "the floor"}}}
		}
		result := func(size, ranks int, ns float64) bench.Result {
			var metrics map[string]float64
			if n.mode == "live" {
				metrics = map[string]float64{"x-floor": 1 + 1/math.Log2(float64(size+4))}
			}
			return bench.Result{Size: size, Ranks: ranks, Iters: 100, Outcome: bench.Outcome{Placement: bench.Near, Samples: samples(ns, metrics)}}
		}
		var trips, streams, barriers, starts []bench.Result
		for size := 8; size <= 1<<20; size *= 8 {
			trips = append(trips, result(size, 2, 2*(n.message+n.byte*float64(size))))
			streams = append(streams, result(size, 2, n.message/5+n.byte*float64(size)))
		}
		for ranks := 2; ranks <= 16; ranks *= 2 {
			barriers = append(barriers, result(0, ranks, n.message*math.Log2(float64(ranks))))
			starts = append(starts, result(0, ranks, 2e7*float64(ranks)))
		}
		if err := enc.Header(&h); err != nil {
			t.Fatal(err)
		}
		for _, s := range []bench.Series{
			series("short AM round trip", "pingpong", "short", bench.RoundTrip, bench.Sizes, result(0, 2, 2*n.message)),
			series("long AM round trip", "pingpong", "long", bench.RoundTrip, bench.Sizes, trips...),
			series("long AM stream", "stream", "long", bench.Stream, bench.Sizes, streams...),
			series("barrier", "barrier", "", bench.Duration, bench.Ranks, barriers...),
			series("random updates", "gups", "", bench.Rate, bench.Ranks, barriers...),
			series("stencil", "stencil", "", bench.Duration, bench.Ranks, barriers...),
			series("start-up", "startup", "", bench.Duration, bench.Ranks, starts...),
		} {
			if err := enc.Series(&s); err != nil {
				t.Fatal(err)
			}
		}
	}
	out.WriteString(others)
	return &out
}

// others are lines of other kinds.
const others = `{"kind":"paper","experiment":"sci-short","about":"half round trip of <Shorts>","conduit":"sci","machine":"d339-2003","notes":["a note"],"numbers":[{"name":"am-short","about":"half round trip","value":5.002,"unit":"us","published":"5","standing":"fitted","verdict":"agrees"}],"claims":[{"text":"a claim of theirs","holds":true,"shown":"1 of 1"}],"figures":[{"name":"ranks","title":"Short messages by job","note":"aqbench paper sci-short","x":{"label":"Ranks","scale":"log2"},"y":{"label":"Half round trip, µs","scale":"linear"},"series":[{"name":"SCI conduit","kind":"measured","points":[{"x":2,"y":5},{"x":4,"y":5.01},{"x":8,"y":5.03}]},{"name":"a + b·P","kind":"formula","points":[{"x":2,"y":4.9},{"x":8,"y":5}]},{"name":"published","kind":"published","points":[{"x":2,"y":5}]}]}]}
{"kind":"matrix","title":"Stencil","cells":[{"from":0,"to":1,"messages":10,"bytes":4096},{"from":1,"to":0,"messages":10,"bytes":100}]}
`

func write(t testing.TB, text string) string {
	t.Helper()
	var l page.Lines
	if err := l.Read(strings.NewReader(text), "test"); err != nil {
		t.Fatal(err)
	}
	var html bytes.Buffer
	if err := l.Write(&html, "A title & more"); err != nil {
		t.Fatal(err)
	}
	return html.String()
}

// TestWrite looks at what the page says without a browser.
func TestWrite(t *testing.T) {
	html := write(t, lines(t).String())
	for _, want := range []string{
		"A title &amp; more", "Measured live", "Modelled", "half round trip of &lt;Shorts&gt;", // escaped
		"rank 0 to 1: 10 messages, 4096 bytes",
		`id="live-latency"`, `id="live-bandwidth"`, `id="live-rate"`, `id="live-scaling"`, `id="live-gups"`, `id="live-stencil"`, `id="live-startup"`, `id="live-floor"`, `id="modelled-latency"`,
		`id="paper-sci-short-d339-2003-ranks"`, "Conditions of measurement", "Apache License",
		"0.7 (0.637 to 0.763)", // median and percentiles of the barrier of 2, and of the short half round trip
	} {
		if !strings.Contains(html, want) {
			t.Errorf("no %q", want)
		}
	}
	// What is modelled has no floor, and nothing of both modes is in one figure.
	if strings.Contains(html, `id="modelled-floor"`) {
		t.Error("a figure of ratios without any")
	}
	for _, outside := range []string{"http://", "https://", "src="} {
		body := html[:strings.Index(html, `<script type="application/json"`)]
		if at := strings.Index(body[:strings.Index(body, "<footer>")], outside); at >= 0 {
			t.Errorf("the page has %q: …%s", outside, body[at:at+60])
		}
	}
}

// TestCrossing: two networks cross where their lines do, in live and modelled sections apart.
func TestCrossing(t *testing.T) {
	html := write(t, lines(t).String())
	rows := regexp.MustCompile(`<tr><td>Latency of active messages: long</td><td class="n">([^<]*)</td><td>([^<]*)</td>`).FindAllStringSubmatch(html, -1)
	if len(rows) != 2 {
		t.Fatalf("crossings %q, want one live and one modelled", rows)
	}
	for i, want := range []struct {
		at           float64
		before, then string
	}{
		{(9000 - 700) / 0.5 / 1024, "sci/live", "udp/none"},
		{(9000 - 5000) / 3.0 / 1024, "sci/d339-2003", "myrinet/grim-lanai9"},
	} {
		var at float64
		fmt.Sscanf(rows[i][1], "%g KiB", &at)
		if math.Abs(at/want.at-1) > 0.25 { // lines on logarithmic axes between sizes eight times apart
			t.Errorf("at %s, want %.3g KiB", rows[i][1], want.at)
		}
		before, after := strings.Index(rows[i][2], want.before), strings.Index(rows[i][2], want.then)
		if before < 0 || after < before {
			t.Errorf("%q; want %s and then %s", rows[i][2], want.before, want.then)
		}
	}
}

// TestTolerant: lines that lack nearly everything are shown.
func TestTolerant(t *testing.T) {
	html := write(t, `{"name":"BenchmarkX","params":{"op":"pingpong"},"size":8,"summary":{"ns/op":{"median":2000}},"new-field":[1]}`+"\n\n")
	for _, want := range []string{"Not said", `id="other-latency"`, `<td class="n">8</td><td class="n">1</td>`} {
		if !strings.Contains(html, want) {
			t.Errorf("no %q", want)
		}
	}
}

// TestRounds: results of one name, measured under the same conditions, are one with all samples; other conditions and other
// implementations are not mixed with them.
func TestRounds(t *testing.T) {
	line := func(more, commit string, samples ...float64) string {
		var list []string
		for _, s := range samples {
			list = append(list, fmt.Sprintf(`{"ns/op":%g}`, s))
		}
		return fmt.Sprintf(`{"name":"BenchmarkX","params":{"op":"put","conduit":"sci"},"mode":"live","size":8,"np":2%s,"samples":[%s],"header":{"commit":%q}}`+"\n",
			more, strings.Join(list, ","), commit)
	}
	html := write(t, line("", "a", 1000, 2000)+line("", "a", 9000)+line(`,"peer":"openmpi"`, "a", 5000, 7000))
	for _, want := range []string{`id="live-rma"`, "2 (1.1 to 8.3)", "6 (5.1 to 6.9)", ">openmpi<"} {
		if !strings.Contains(html, want) {
			t.Errorf("no %q", want)
		}
	}
	if html := write(t, line("", "a", 1000, 2000)+line("", "b", 9000)); strings.Contains(html, "to 8.3)") {
		t.Error("samples of two commits are mixed")
	}
}

// TestRefused wants a line that is none to be named, with its place.
func TestRefused(t *testing.T) {
	for text, says := range map[string]string{
		"\nBenchmarkAM 1 2 ns/op":                 "old.jsonl:2:",
		`{"kind":"fly"}`:                          `"fly" is not known`,
		`{"name":3}`:                              "old.jsonl:1:",
		`{"kind":"matrix","from":-1,"to":1}`:      "rank -1",
		`{"kind":"matrix","from":0,"to":1000000}`: "rank 0 to 1000000",
		`{"kind":"paper","figures":[{"series":[{"kind":"guessed"}]}]}`:                      `"guessed"`,
		`{"kind":"paper","figures":[{"x":{"scale":"log3"}}]}`:                               `"log3"`,
		`{"name":"BenchmarkX","summary":{"ns/op":{"median":"fast"}}}` + "\n" + `{"name":1}`: "old.jsonl:1:",
	} {
		var l page.Lines
		if err := l.Read(strings.NewReader(text), "old.jsonl"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %q", text, err, says)
		}
	}
	var l page.Lines
	if err := l.Read(strings.NewReader("\n"), "empty"); err != nil || !l.Empty() {
		t.Errorf("%v, empty: %v", err, l.Empty())
	}
}

// TestVendored: the charting library is the file that npm has of the version that its README names.
func TestVendored(t *testing.T) {
	const version, sum = "6.1.0", "61f13280aba3161f77fc801bf5f9c786f55f10432153a0683fc5cc0700b013d5"
	text, err := os.ReadFile("assets/echarts/echarts.common.min.js")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(text)); got != sum {
		t.Errorf("checksum %s, want that of version %s, %s", got, version, sum)
	}
	if !bytes.Contains(text, []byte(`version="`+version+`"`)) && !bytes.Contains(text, []byte(`"`+version+`"`)) {
		t.Errorf("the file does not name version %s", version)
	}
	readme, err := os.ReadFile("assets/echarts/README.md")
	if err != nil || !strings.HasPrefix(string(readme), "# Apache ECharts "+version+"\n") {
		t.Errorf("README: %v", err)
	}
}
