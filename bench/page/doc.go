// Package page makes one HTML file of what the verbs of aqbench have written as JSON lines: figures with the median and
// the range from the 5th to the 95th percentile, crossovers between conduits, tables, and the conditions of measurement.
// The file holds everything that it needs, so that a browser shows it without a network. What was measured live and what
// was modelled are sections of their own, and no figure mixes them.
//
// Read takes lines that lack fields. A result needs a name and a time; all else is shown if it is there. Charts are drawn
// by Apache ECharts, which is embedded: see assets/echarts/README.md.
package page
