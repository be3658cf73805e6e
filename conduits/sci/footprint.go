package sci

// Footprint implements core.Footprinter: all of a node's arena but its long segment.
func (c *live) Footprint(n int) int {
	return c.layout(n, layoutFor(pageStagger-1).size, hintBytes(n)).Size()
}

// Footprint implements core.Footprinter: all of a node's arena but its long segment.
func (c *paper) Footprint(n int) int {
	return c.layout(n, perPeer*commandSize, flagBytes(n)).Size()
}

// hintBytes is the size of a control segment of the live profile: a byte per sender, in
// whole words.
func hintBytes(n int) int { return 8 * ((n + 7) / 8) }

// flagBytes is the size of a control segment of the paper profile: the message ready flags
// and the message exist flag.
func flagBytes(n int) int { return perPeer*n + 1 }
