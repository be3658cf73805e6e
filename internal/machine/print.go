package machine

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// String returns the whole machine in the format of a file that is based on nothing, so that
// it can be read, compared and saved as a machine of one's own.
func (f *File) String() string {
	var text strings.Builder
	if f.About != "" {
		fmt.Fprintf(&text, "about %s\n", f.About)
	}
	if f.Base != "" {
		fmt.Fprintf(&text, "# %s is based on %s\n", f.Name, f.Base)
	}
	w := tabwriter.NewWriter(&text, 0, 0, 1, ' ', 0)
	for i := range f.Constants {
		c := &f.Constants[i]
		standing := string(c.Standing)
		if c.Fit != "" {
			standing += "(" + c.Fit + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", c.Name, c.Value, c.Unit, standing, c.Source)
	}
	for i := range f.Fits {
		g := &f.Fits[i]
		fmt.Fprintf(w, "fit %s\t%s\t%s\t%s\n", g.Name, g.Value, g.Unit, g.Source)
	}
	for i := range f.Predictions {
		g := &f.Predictions[i]
		fmt.Fprintf(w, "predict %s\t%s\t%s\t%s\t%s\n", g.Name, g.Value, g.Unit, g.Tolerance, g.Source)
	}
	w.Flush() // into memory: cannot fail
	return text.String()
}
