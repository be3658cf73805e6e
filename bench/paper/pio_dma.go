package paper

import (
	"math"

	"github.com/aqueduct-go/aqueduct/bench/plot"
)

// pioDMA measures the hardware below the conduit: figure 7 of the paper, and its remark on
// remote loads.
func pioDMA(s *Setting) (*Outcome, error) {
	o := new(Outcome)
	small := []int{8, 16, 32, 64, 80, 128, 256, 512, 1 << 10, 2 << 10, 4 << 10, 8 << 10}
	large := []int{64, 80, 128, 256, 512, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10}
	if s.Full {
		large = append(large, 128<<10, 256<<10, 512<<10, 1<<20)
	}
	pingPong, err := s.pioPingPong(small, 1)
	if err != nil {
		return nil, err
	}
	stores, err := s.pioStream(large)
	if err != nil {
		return nil, err
	}
	transfers, err := s.dma(large)
	if err != nil {
		return nil, err
	}
	loads, err := s.pioRead(small, 8)
	if err != nil {
		return nil, err
	}
	blocks, err := s.pioRead(small, 64)
	if err != nil {
		return nil, err
	}
	o.number("raw-pio-80", "half round trip of 80 bytes by stores", valueAt(pingPong, 80), "us")
	o.number("read-over-write", "80 bytes by loads of words, over the half round trip by stores", valueAt(loads, headerBytes)/valueAt(pingPong, headerBytes), "count")
	check, err := s.check(headerBytes)
	if err != nil {
		return nil, err
	}
	o.number("check-80", "a check of the sequence after 80 bytes were stored", check, "us")
	posts, err := s.pioPingPong([]int{headerBytes}, posted)
	if err != nil {
		return nil, err
	}
	o.number("posted-80", "half round trip of 80 bytes by stores that nobody checks, without a flag", posts[0].Y, "us")
	last := float64(large[len(large)-1])
	o.number("pio-rate", "stores, at the largest size", last/valueAt(stores, last), "MB/s")
	o.number("dma-rate", "DMA, at the largest size", last/valueAt(transfers, last), "MB/s")
	o.claimCrossover(stores, transfers)
	words, streams := over(loads, pingPong), over(blocks, pingPong)
	if s.publishes() {
		o.claimReads(words, streams)
		pio, dma := last/valueAt(stores, last), last/valueAt(transfers, last)
		o.claim("DMA has a higher rate than stores, since its packets are larger", "", dma > 1.2*pio, "%s and %s MB/s", figures(dma), figures(pio))
	}
	if err := s.claimStepsOf(o, "a load", oneLoad, []string{"memory.read", "bus.read", "pio.return"}); err != nil {
		return nil, err
	}
	if err := s.claimStepsOf(o, "a transfer by DMA", oneTransfer, stepsOfDMA); err != nil {
		return nil, err
	}
	o.Figures = append(o.Figures,
		Figure{"latency", plot.Figure{
			Title: "Raw SCI: half round trip by stores, and one transfer by DMA",
			Note:  blocksLoadedWhole + s.reproduce("sci-pio-dma"),
			X:     plot.Axis{Label: "size, bytes", Scale: plot.Log2},
			Y:     plot.Axis{Label: "time, µs", Scale: plot.Log10},
			Series: append([]plot.Series{
				{Name: "stores, half round trip", Points: pingPong},
				{Name: "stores, with check", Points: stores},
				{Name: "DMA: post and wait", Points: transfers},
				{Name: "loads of 8 bytes", Points: loads},
				{Name: "loads of 64-byte blocks", Points: blocks},
			}, s.published(headerBytes, "raw-pio-80")...),
		}},
		Figure{"bandwidth", plot.Figure{
			Title: "Raw SCI: bandwidth of stores, DMA and loads",
			Note:  blocksLoadedWhole + s.reproduce("sci-pio-dma"),
			X:     plot.Axis{Label: "size, bytes", Scale: plot.Log2},
			Y:     plot.Axis{Label: "bandwidth, MB/s (10⁶ bytes)"},
			Series: []plot.Series{
				{Name: "stores, with check", Points: rates(stores)},
				{Name: "DMA: post and wait", Points: rates(transfers)},
				{Name: "loads of 8 bytes", Points: rates(loads)},
				{Name: "loads of 64-byte blocks", Points: rates(blocks)},
			},
		}},
		Figure{"reading", plot.Figure{
			Title: "Raw SCI: reading over writing, half of the round trip",
			Note:  blocksLoadedWhole + s.reproduce("sci-pio-dma"),
			X:     plot.Axis{Label: "size, bytes", Scale: plot.Log2},
			Y:     plot.Axis{Label: "time of reading over that of writing", Scale: plot.Log10},
			Series: append([]plot.Series{
				{Name: "loads of 8 bytes", Points: words},
				{Name: "loads of 64-byte blocks", Points: streams},
			}, s.published(headerBytes, "read-over-write")...),
		}},
	)
	return o, nil
}

// blocksLoadedWhole explains what the figures show at 80 bytes.
const blocksLoadedWhole = "Loads by blocks take as long for 80 bytes as for 128, since 80 bytes lie in two blocks, both of which are loaded whole: hence the step, or dip, from 64 to 80 bytes. "

// claimCrossover adds what the paper says about figure 7: PIO for small messages, up to a
// kilobyte at least, and DMA for large ones.
func (o *Outcome) claimCrossover(stores, transfers []plot.Point) {
	x, ok := crossing(stores, transfers)
	o.claim("stores are faster than DMA up to 1 KB, and DMA is for large transfers", "Su et al., figure 7",
		ok && x > 1<<10, "DMA is ahead from %s bytes on", figures(x))
	if ok {
		o.number("pio-dma-crossover", "size from which DMA takes less time than stores", x, "B")
	}
}

// claimReads adds what the model makes of the paper's remark that reads are about ten times slower
// than writes, by size.
func (o *Outcome) claimReads(words, blocks []plot.Point) {
	least, last := math.Inf(1), words[len(words)-1]
	for i := range words {
		least = min(least, words[i].Y, blocks[i].Y)
	}
	o.claim("reads take longer than writes at every size, by words and by blocks", "Su et al., who say about ten times and not of what",
		least > 1, "by words %s times as long at %s bytes, %s at %d and %s at %s; by blocks %s, %s and %s",
		figures(words[0].Y), figures(words[0].X), figures(valueAt(words, headerBytes)), headerBytes, figures(last.Y), figures(last.X),
		figures(blocks[0].Y), figures(valueAt(blocks, headerBytes)), figures(blocks[len(blocks)-1].Y))
}

// over returns a's values over b's, which have the same x.
func over(a, b []plot.Point) []plot.Point {
	var ratios []plot.Point
	for i := range a {
		ratios = append(ratios, plot.Point{X: a[i].X, Y: a[i].Y / b[i].Y})
	}
	return ratios
}

// rates turns times in microseconds by size in bytes into rates, in megabytes per second.
func rates(points []plot.Point) []plot.Point {
	var r []plot.Point
	for _, p := range points {
		r = append(r, plot.Point{X: p.X, Y: p.X / p.Y})
	}
	return r
}

// valueAt returns the value of the point at x, which there must be.
func valueAt(points []plot.Point, x float64) float64 {
	for _, p := range points {
		if p.X == x {
			return p.Y
		}
	}
	panic("no point there")
}
