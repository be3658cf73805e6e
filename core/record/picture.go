package record

import (
	"bufio"
	"fmt"
	"io"
	"math"
)

// WritePicture writes as SVG who has sent how many bytes to whom: a square for each pair of ranks, the darker the more, on a
// logarithmic scale. A square has its figures as a title, which browsers show under the pointer.
func WritePicture(to io.Writer, records []*Record) error {
	const margin, most = 56, 640
	n := len(records)
	side := float64(most) / float64(max(n, 1))
	side = min(side, 40)
	size := side * float64(n)
	w := bufio.NewWriter(to)
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" role="img" aria-label="bytes from rank to rank" font-family="sans-serif" font-size="12">`+"\n",
		size+2*margin, size+2*margin)
	fmt.Fprintf(w, `<rect width="100%%" height="100%%" fill="white"/>`+"\n")
	fmt.Fprintf(w, `<text x="%.1f" y="16" text-anchor="middle">to rank</text>`+"\n", margin+size/2)
	fmt.Fprintf(w, `<text transform="translate(14 %.1f) rotate(-90)" text-anchor="middle">from rank</text>`+"\n", margin+size/2)
	step := max(1, int(math.Ceil(24/side)))
	for r := 0; r < n; r += step {
		at := margin + side*(float64(r)+0.5)
		fmt.Fprintf(w, `<text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n", at, margin-8, r)
		fmt.Fprintf(w, `<text x="%d" y="%.1f" text-anchor="end">%d</text>`+"\n", margin-8, at+4, r)
	}
	fmt.Fprintf(w, `<rect x="%d" y="%d" width="%.2f" height="%.2f" fill="#f4f4f4" stroke="#999"/>`+"\n", margin, margin, size, size)
	var peak uint64
	for from := range records {
		for to := range records {
			peak = max(peak, between(records, from, to).Bytes)
		}
	}
	for from, r := range records {
		if r == nil || r.Figures == nil {
			fmt.Fprintf(w, `<rect x="%d" y="%.2f" width="%.2f" height="%.2f" fill="none" stroke="#c00"><title>rank %d ended without telling</title></rect>`+"\n",
				margin, margin+side*float64(from), size, side, from)
		}
		for to := range records {
			all := between(records, from, to)
			if all == (Count{}) {
				continue
			}
			dark := math.Log1p(float64(all.Bytes)) / math.Log1p(float64(max(peak, 1)))
			fmt.Fprintf(w, `<rect x="%.2f" y="%.2f" width="%.2f" height="%.2f" fill="rgb(%.0f,%.0f,%.0f)"><title>rank %d to rank %d: %d messages and operations, %d bytes</title></rect>`+"\n",
				margin+side*float64(to), margin+side*float64(from), side, side, 222-200*dark, 235-170*dark, 247-100*dark, from, to, all.N, all.Bytes)
		}
	}
	fmt.Fprintf(w, `<text x="%d" y="%.1f">white blue: few bytes, dark blue: %d, on a logarithmic scale</text>`+"\n", margin, margin+size+24, peak)
	fmt.Fprintln(w, "</svg>")
	return w.Flush()
}
