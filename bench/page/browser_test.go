package page_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var screens = flag.String("screens", "", "write pictures of the page, in light, dark, on a phone and printed, to this `directory`")

// browser is a page in a browser, which all subtests share.
type browser struct {
	*testing.T
	ctx context.Context

	mu       sync.Mutex
	requests []string // URLs
	errors   []string // exceptions and errors of the console
}

// start shows the page of html in a browser of its own, with an empty profile. It ends with the test.
func start(t *testing.T, html string) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed (apt-get install chromium)")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	if err := os.WriteFile(file, []byte(html), 0o666); err != nil {
		t.Fatal(err)
	}
	allocator, end := chromedp.NewExecAllocator(context.Background(), // until the end of the test's clean-up
		append(chromedp.DefaultExecAllocatorOptions[:],
			chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(filepath.Join(dir, "profile")),
			chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))...)
	t.Cleanup(end)
	ctx, endTab := chromedp.NewContext(allocator)
	b := &browser{T: t, ctx: ctx}
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Error(err)
		}
		endTab()
	})
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate("file://"+file), chromedp.WaitReady(chromedp.CSS("#results")))
	b.media("screen", "light")
	// In the page: the colours of what a chart has drawn, and of the samples in its legend, as browsers write colours.
	eval[bool](b, `(window.colour = c => { const e = document.createElement('i'); e.style.color = c; return e.style.color; },
		window.drawn = id => [...new Set([...document.querySelectorAll('#' + id + ' .plot path')].flatMap(p => [p.getAttribute('stroke'), p.getAttribute('fill')]).filter(Boolean).map(colour))],
		window.samples = id => [...document.querySelectorAll('#' + id + ' .legend svg')].map(s => getComputedStyle(s.querySelector('[style]')).stroke), true)`)
	return b
}

// hear keeps what must not be.
func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		b.errors = append(b.errors, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			text, _ := json.Marshal(e.Args)
			b.errors = append(b.errors, string(text))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.errors = append(b.errors, e.Entry.Text)
		}
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// eval returns the value of an expression of JavaScript, which may be a promise.
func eval[T any](b *browser, format string, args ...any) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](fmt.Sprintf(format, args...), chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%s: %v", format, err)
	}
	return v
}

// until waits for an expression to be true. The browser looks whenever it draws a frame.
func (b *browser) until(format string, args ...any) {
	b.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Poll[bool](fmt.Sprintf(format, args...))); err != nil {
		b.Fatalf("%s: %v", fmt.Sprintf(format, args...), err)
	}
}

// media sets what the page is shown on, and waits for the charts to be drawn for it.
func (b *browser) media(kind, scheme string) {
	b.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Media: kind, Features: []*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: scheme},
				{Name: "prefers-reduced-motion", Value: "reduce"}, // the page jumps where it would scroll smoothly, so that clicks meet what they are for
			}})
		return err
	}))
	b.until(`matchMedia('(prefers-color-scheme: %s)').matches && new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(true))))`, scheme)
}

// viewport sets the size of the window, and waits for the charts to fit it.
func (b *browser) viewport(width, height int64) {
	b.Helper()
	b.do(chromedp.EmulateViewport(width, height))
	b.until(`innerWidth === %d && report.charts.every(c => c.chart.getWidth() === c.plot.clientWidth)`, width)
}

// place is where something is in the window.
type place struct{ X, Y float64 }

// point returns where a point of the first series of a chart is, after scrolling there.
func (b *browser) point(id string, index int) place {
	b.Helper()
	return eval[place](b, `(() => {
		const c = report.charts.find(c => c.id === %q), p = report.figures[%[1]q].series[0].points[%d];
		c.plot.scrollIntoView({block: 'center', behavior: 'instant'});
		const [x, y] = c.chart.convertToPixel({xAxisIndex: 0, yAxisIndex: 0}, [p.x, p.y]), r = c.plot.getBoundingClientRect();
		return {X: r.left + x, Y: r.top + y};
	})()`, id, index)
}

func (b *browser) mouse(at place) {
	b.Helper()
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.X-1, at.Y), chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.X, at.Y))
}

// TestBrowser looks at the page in a browser.
func TestBrowser(t *testing.T) {
	axe := axeCore(t)
	b := start(t, write(t, lines(t).String()))
	for _, part := range []struct {
		name string
		test func(*browser)
	}{
		{"plots", plots}, {"legend", legend}, {"hover", hover}, {"zoom", zoom}, {"keyboard", keyboard}, {"table", sorting}, {"dark", dark}, {"phone", phone}, {"print", printed},
		{"axe", func(b *browser) { accessible(b, axe) }},
	} {
		t.Run(part.name, func(t *testing.T) {
			outer := b.T
			b.T = t
			defer func() { b.T = outer }()
			part.test(b)
		})
	}
	b.T = t
	if *screens != "" {
		b.pictures(*screens)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, u := range b.requests {
		if u, err := url.Parse(u); err != nil || u.Scheme != "file" && u.Scheme != "data" && u.Scheme != "blob" {
			t.Errorf("a request of %v, %v", u, err)
		}
	}
	if len(b.requests) == 0 {
		t.Error("not even the page was requested: requests are not seen")
	}
	if len(b.errors) > 0 {
		t.Errorf("errors of the console: %q", b.errors)
	}
}

// plots: each figure has its curves, in a drawing that says what it is.
func plots(b *browser) {
	figures := eval[map[string]int](b, `Object.fromEntries(Object.entries(report.figures).map(([id, f]) => [id, f.series.length]))`)
	if len(figures) < 12 {
		b.Errorf("only %d figures: %v", len(figures), figures)
	}
	for id, n := range figures {
		drawn, samples := eval[[]string](b, `drawn(%q)`, id), eval[[]string](b, `samples(%q)`, id)
		if len(samples) != n {
			b.Errorf("%s: the legend has %d of %d curves", id, len(samples), n)
		}
		for _, colour := range samples {
			if !slices.Contains(drawn, colour) {
				b.Errorf("%s: nothing is drawn in the colour %s of its legend, only %q", id, colour, drawn)
			}
		}
	}
	// Marks and curves lie within the axes; labels of axes do not overlap marks, as they are outside.
	if out := eval[[]string](b, `report.charts.flatMap(c => { const f = report.figures[c.id]; return f.series.flatMap(s => s.points.filter(p => !c.chart.containPixel('grid', c.chart.convertToPixel({xAxisIndex: 0, yAxisIndex: 0}, [p.x, p.y]))).map(p => c.id + ' ' + s.name + ' ' + p.x)); })`); len(out) > 0 {
		b.Errorf("points outside the axes: %q", out)
	}
	// The band of a live curve reaches from the 5th to the 95th percentile.
	if n := eval[int](b, `document.querySelectorAll('#live-latency svg path[fill-opacity="0.16"]').length`); n < 2 {
		b.Errorf("%d bands", n)
	}
}

// legend: its buttons hide a curve and bring it back.
func legend(b *browser) {
	const shown = `drawn('live-bandwidth').includes(samples('live-bandwidth')[0])`
	button := chromedp.CSS("#live-bandwidth .legend button")
	for _, want := range []bool{false, true} {
		b.do(chromedp.Click(button))
		b.until(`document.querySelector('#live-bandwidth .legend button').ariaPressed === '%t' && %s === %[1]t`, want, shown)
	}
}

// hover shows the values of the point, with its percentiles.
func hover(b *browser) {
	b.mouse(b.point("live-scaling", 0))
	b.until(`[...document.querySelectorAll('#live-scaling .tip')].some(t => t.style.visibility !== 'hidden' && t.textContent.includes('0.637–0.763') && t.textContent.includes('Ranks: 2'))`)
}

// zoom: buttons, and the wheel with Ctrl.
func zoom(b *browser) {
	const span = `(z => z.end - z.start)(report.charts.find(c => c.id === 'live-latency').chart.getOption().dataZoom[0])`
	const ticks = `[...document.querySelectorAll('#live-latency svg text')].map(t => t.textContent).join(' ')`
	before := eval[string](b, ticks)
	b.do(chromedp.Click(chromedp.CSS(`#live-latency [data-zoom="in"]`)))
	b.until(`Math.abs(%s - 50) < 1e-6 && %s !== %q`, span, ticks, before)
	b.do(chromedp.Click(chromedp.CSS(`#live-latency [data-zoom="all"]`)))
	b.until(`%s === 100 && %s === %q`, span, ticks, before)
	at := b.point("live-latency", 0)
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Call(ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseWheel, X: at.X, Y: at.Y, DeltaX: 1, DeltaY: -240, Modifiers: 2})
		return err
	}))
	b.until(`%s < 100`, span)
	b.do(chromedp.Click(chromedp.CSS(`#live-latency [data-zoom="all"]`)))
}

// keyboard: Tab reaches every control, which shows that it has the focus, and keys work on charts.
func keyboard(b *browser) {
	all := eval[int](b, `(window.tabbed = new Set(), window.invisible = [], document.activeElement.blur(), scrollTo(0, 0),
		window.controls = [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')].filter(e => e.checkVisibility()), controls.length)`)
	b.do(chromedp.MouseClickXY(2, 2)) // the keyboard begins at the top
	for range all {
		b.do(chromedp.KeyEvent(kb.Tab))
		eval[int](b, `(() => { const e = document.activeElement, s = getComputedStyle(e); tabbed.add(e);
			if (s.outlineStyle === 'none' || parseFloat(s.outlineWidth) < 2) invisible.push(e.outerHTML.slice(0, 80)); return tabbed.size; })()`)
	}
	if missed := eval[[]string](b, `controls.filter(e => !tabbed.has(e)).map(e => e.outerHTML.slice(0, 80))`); len(missed) > 0 {
		b.Errorf("of %d controls Tab does not reach %d: %q", all, len(missed), missed[:min(4, len(missed))])
	}
	if invisible := eval[[]string](b, `invisible`); len(invisible) > 0 {
		b.Errorf("%d controls do not show the focus: %q", len(invisible), invisible[:min(4, len(invisible))])
	}
	b.do(chromedp.Focus(chromedp.CSS("#live-scaling .plot")), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
	b.until(`(t => t.startsWith('Ranks 4: ') && t.includes('sci/live 1.4'))(document.querySelector('#live-scaling [aria-live]').textContent)`)
	b.do(chromedp.KeyEvent("+"))
	b.until(`document.activeElement.closest('#live-scaling') && report.charts.find(c => c.id === 'live-scaling').chart.getOption().dataZoom[0].end < 100`)
	b.do(chromedp.KeyEvent("0"), chromedp.KeyEvent(kb.Escape))
	b.do(chromedp.Focus(chromedp.CSS("#live-rate .legend button")), chromedp.KeyEvent(" "))
	b.until(`document.querySelector('#live-rate .legend button').ariaPressed === 'false'`)
	b.do(chromedp.KeyEvent(" "))
}

// sorting: by numbers in both directions, and a filter of words and of the mode.
func sorting(b *browser) {
	const column = `[...document.querySelectorAll('#table tbody tr')].filter(r => !r.hidden).map(r => +r.cells[7].dataset.v)`
	heading := chromedp.CSS(`#table th button[data-column="7"]`)
	const order = `document.querySelectorAll('#table th')[7].ariaSort === %q`
	b.do(chromedp.Click(heading))
	b.until(order, "ascending")
	if got := eval[[]float64](b, column); !slices.IsSorted(got) || len(got) < 60 {
		b.Errorf("not ascending: %v", got)
	}
	b.do(chromedp.Click(heading))
	b.until(order, "descending")
	got := eval[[]float64](b, column)
	if slices.Reverse(got); !slices.IsSorted(got) {
		b.Errorf("not descending: %v", got)
	}
	// What is not known stands last, whatever the direction.
	for _, direction := range []string{"ascending", "descending"} {
		b.do(chromedp.Click(chromedp.CSS(`#table th button[data-column="11"]`)))
		b.until(`document.querySelectorAll('#table th')[11].ariaSort === %q`, direction)
		if last := eval[string](b, `document.querySelector('#table tbody tr:last-child').cells[11].textContent`); last != "–" {
			b.Errorf("%s stands last", last)
		}
	}
	b.do(chromedp.SendKeys(chromedp.CSS("#filter"), "barrier sci"))
	b.until(`document.getElementById('count').textContent.startsWith('8 of ')`)
	eval[bool](b, `(m => { m.value = 'live'; return m.dispatchEvent(new Event('change')); })(document.getElementById('mode'))`)
	if got := eval[[]float64](b, column); len(got) != 4 {
		b.Errorf("%d live results of a barrier over sci, want 4", len(got))
	}
	eval[bool](b, `(f => { f.value = ''; document.getElementById('mode').value = ''; return f.dispatchEvent(new Event('input')); })(document.getElementById('filter'))`)
}

// dark: the page and its charts have other colours, and text on it has contrast (accessible looks at that).
func dark(b *browser) {
	const paper, curves = `getComputedStyle(document.body).backgroundColor`, `samples('live-latency').every(c => drawn('live-latency').includes(c))`
	light := eval[string](b, `samples('live-latency').join()`)
	b.media("screen", "dark")
	b.until(curves)
	if got := eval[string](b, paper); got != "rgb(20, 23, 26)" || eval[string](b, `samples('live-latency').join()`) == light {
		b.Errorf("paper %s, and curves %s in light and dark", got, light)
	}
	b.media("screen", "light")
	b.until(curves)
	if got := eval[string](b, paper); got != "rgb(255, 255, 255)" {
		b.Errorf("paper %s in light", got)
	}
}

// phone: nothing is wider than the window, so that nobody scrolls sideways.
func phone(b *browser) {
	b.viewport(360, 740)
	defer b.viewport(1280, 900)
	if w := eval[int](b, `document.documentElement.scrollWidth`); w > 360 {
		b.Errorf("the page is %d wide in a window of 360: %q", w, eval[[]string](b,
			`[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > 361 && !e.closest('.scroll')).map(e => e.outerHTML.slice(0, 90)).slice(0, 5)`))
	}
	small := eval[[]string](b, `[...document.querySelectorAll('main *')].filter(e => e.checkVisibility() && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) && parseFloat(getComputedStyle(e).fontSize) < 12 && !e.closest('.dense')).map(e => e.outerHTML.slice(0, 80)).slice(0, 5)`)
	if len(small) > 0 {
		b.Errorf("text of less than 12 pixels: %q", small)
	}
}

// printed: charts are there, within the paper, in light colours also when the screen is dark; controls are not.
func printed(b *browser) {
	b.media("print", "dark")
	b.viewport(680, 900)
	defer func() { b.media("screen", "light"); b.viewport(1280, 900) }()
	if got := eval[string](b, `getComputedStyle(document.body).backgroundColor`); got != "rgb(255, 255, 255)" {
		b.Errorf("paper is %s", got)
	}
	if wide := eval[int](b, `Math.max(...report.charts.map(c => c.plot.querySelector('svg').getBoundingClientRect().right))`); wide > 680 {
		b.Errorf("a chart ends at %d of 680", wide)
	}
	if w := eval[int](b, `document.documentElement.scrollWidth`); w > 680 {
		b.Errorf("the page is %d wide on paper of 680: %q", w, eval[[]string](b,
			`[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > 681).map(e => e.outerHTML.slice(0, 90)).slice(0, 5)`))
	}
	if shown := eval[int](b, `[...document.querySelectorAll('.zoom, .filter, nav')].filter(e => e.checkVisibility()).length`); shown > 0 {
		b.Errorf("%d controls are printed", shown)
	}
	pdf, err := chromedp.Run(b.ctx, chromedp.PrintToPDF())
	if err != nil || len(pdf) < 20000 {
		b.Errorf("PDF of %d bytes, %v", len(pdf), err)
	}
}

// accessible has axe-core look for violations, in light and in dark.
func accessible(b *browser, axe string) {
	type violation struct {
		ID, Help string
		Nodes    []string
	}
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](axe+"\n;true")); err != nil {
		b.Fatal(err)
	}
	// One of each kind of what is folded, and a few rows of the table: axe looks at every text by itself.
	eval[bool](b, `(['#live-latency details', 'section > details', 'section > details + details', 'footer details'].forEach(s => document.querySelector(s).open = true),
		document.querySelectorAll('#table tbody tr').forEach((r, i) => r.hidden = i > 9), true)`)
	type outcome struct {
		Violations []violation
		Passes     int // texts whose contrast is enough
	}
	// What does not depend on colours is the same in both.
	for scheme, rules := range map[string]string{"light": "{}", "dark": "{runOnly: ['color-contrast', 'link-in-text-block']}"} {
		b.media("screen", scheme)
		found := eval[outcome](b, `axe.run(document, %s).then(r => ({Passes: r.passes.filter(p => p.id === 'color-contrast').flatMap(p => p.nodes).length,
			Violations: r.violations.map(v => ({ID: v.id, Help: v.help, Nodes: v.nodes.map(n => n.html.slice(0, 160)).slice(0, 3)}))}))`, rules)
		for _, v := range found.Violations {
			b.Errorf("%s: %s: %s: %q", scheme, v.ID, v.Help, v.Nodes)
		}
		if found.Passes < 100 {
			b.Errorf("%s: axe has looked at the contrast of %d texts", scheme, found.Passes)
		}
	}
	eval[bool](b, `(document.querySelectorAll('details').forEach(d => d.open = false), document.getElementById('filter').dispatchEvent(new Event('input')))`)
	b.media("screen", "light")
}

// pictures writes what there is to look at.
func (b *browser) pictures(dir string) {
	for _, p := range []struct {
		name, kind, scheme string
		width              int64
	}{{"light", "screen", "light", 1280}, {"dark", "screen", "dark", 1280}, {"phone", "screen", "light", 360}, {"print", "print", "light", 680}} {
		b.media(p.kind, p.scheme)
		b.viewport(p.width, 900)
		png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, p.name+".png"), png, 0o666)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
