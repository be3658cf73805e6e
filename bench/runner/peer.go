package runner

import "strings"

// Peer is another project's program that is measured beside ours.
type Peer struct {
	Unit    string // of the ratio to it
	Name    string // with the setting that matters
	Missing string // why it cannot be measured here; "" if it can
}

// Describe says in a line which peers are measured and which are missing; "" if there are none.
func Describe(peers []Peer) string {
	var parts []string
	for _, p := range peers {
		part := p.Unit + " " + p.Name
		if p.Missing != "" {
			part = p.Unit + " no: " + p.Missing
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}
