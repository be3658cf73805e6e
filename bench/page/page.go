package page

import (
	"embed"
	"html/template"
	"io"
	"strings"

	"github.com/aqueduct-go/aqueduct/bench/plot"
)

//go:embed assets
var assets embed.FS

// asset returns a file that is embedded.
func asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // it was there when this was compiled
	}
	return string(text)
}

// A chart is a figure of the page.
type chart struct {
	ID string
	plot.Figure
	first []*result // of each series: what it is of
}

// A section is what belongs to one mode.
type section struct {
	ID, Title, Lead string
	Charts          []*chart
	Crossings       []crossing
	Start           *table // start-up and memory
	LogGP           *table
}

// modes are the sections of results.
var modes = []struct{ mode, id, title, lead string }{
	{"live", "live", "Measured live", "Times of real processes on the machine that Conditions describes. They differ from run to run."},
	{"modelled", "modelled", "Modelled", "Virtual times of machines that are simulated. They are exact for the model, say nothing about this machine, and are not to be compared with live times."},
	{"", "other", "Not said", "The lines do not say whether these were measured live or modelled."},
}

// Write writes the page of the lines, with a title.
func (l *Lines) Write(w io.Writer, title string) error {
	p := document{Title: title, Conditions: conditions(l.headers), Heads: headings, Rows: rows(l.results)}
	for _, m := range modes {
		var of []*result
		for _, r := range l.results {
			if r.mode() == m.mode {
				of = append(of, r)
			}
		}
		if len(of) == 0 {
			continue
		}
		s := &section{ID: m.id, Title: m.title, Lead: m.lead, LogGP: logGP(of), Start: startAndMemory(of)}
		for i := range views {
			if c := views[i].figure(of); c != nil {
				c.ID = m.id + "-" + views[i].id
				s.Charts = append(s.Charts, c)
				// What has different floors does not pass each other, and rates pass where bandwidths do.
				if views[i].id != "floor" && views[i].id != "rate" {
					s.Crossings = append(s.Crossings, c.crossings(&views[i])...)
				}
			}
		}
		p.Sections = append(p.Sections, s)
		p.charts = append(p.charts, s.Charts...)
	}
	for _, m := range l.matrices {
		p.Matrices = append(p.Matrices, m.grid())
	}
	for _, e := range l.papers {
		p.Papers = append(p.Papers, p.paper(e))
	}
	p.Charts = map[string]plot.Figure{}
	for _, c := range p.charts {
		p.Charts[c.ID] = c.Figure
	}
	p.ECharts, p.Script, p.Style = template.JS(asset("echarts/echarts.common.min.js")), template.JS(asset("page.js")), template.CSS(asset("page.css"))
	p.License = licenses()
	return templates.ExecuteTemplate(w, "page.html", &p)
}

// namedTable is a table with its name for those who do not see it.
type namedTable struct {
	Name  string
	Table *table
}

// document is what the template is about.
type document struct {
	Title      string
	Conditions conditionTables
	Sections   []*section
	Matrices   []*grid
	Papers     []*paperPart
	Heads      []heading // of Rows
	Rows       []row
	Charts     map[string]plot.Figure // for the script
	charts     []*chart

	ECharts, Script template.JS
	Style           template.CSS
	License         string
}

// Empty reports whether there is nothing to show.
func (l *Lines) Empty() bool { return len(l.results)+len(l.papers)+len(l.matrices) == 0 }

// A paperPart is an experiment with its charts.
type paperPart struct {
	*plot.Paper
	Figures []*chart
}

func (p *document) paper(e *plot.Paper) *paperPart {
	part := &paperPart{Paper: e}
	for _, f := range e.Figures {
		c := &chart{ID: identifier("paper", e.Experiment, e.Machine, f.Name), Figure: f.Figure}
		part.Figures = append(part.Figures, c)
		p.charts = append(p.charts, c)
	}
	return part
}

// identifier makes one that HTML takes.
func identifier(parts ...string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, strings.Join(parts, "-"))
}

// licenses returns the texts that go with the charting library.
func licenses() string {
	return strings.Join([]string{asset("echarts/NOTICE"), asset("echarts/LICENSE"), asset("echarts/LICENSE-d3"), asset("echarts/LICENSE-zrender")}, "\n\n")
}

// templates are those of the page.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"number": number, "points": pointsTable, "lower": strings.ToLower,
	"named": func(name string, t *table) namedTable { return namedTable{name, t} },
}).ParseFS(assets, "assets/page.html"))
