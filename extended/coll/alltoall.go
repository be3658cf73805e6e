package coll

// allToAllFlat has everybody send to everybody at once, each beginning with the next rank.
func allToAllFlat(c *Call, _ int, b *Builder) {
	for i := 1; i < c.N; i++ {
		to := c.mod(c.Self + i)
		b.Send(to, c.block(Src, to))
	}
	b.Copy(c.block(Dst, c.Self), c.block(Src, c.Self))
	for i := 1; i < c.N; i++ {
		from := c.mod(c.Self - i)
		b.Take(from, c.block(Dst, from))
	}
}

// allToAllPairwise sends to one and receives from one in every round.
func allToAllPairwise(c *Call, _ int, b *Builder) {
	b.Copy(c.block(Dst, c.Self), c.block(Src, c.Self))
	for i := 1; i < c.N; i++ {
		to, from := c.mod(c.Self+i), c.mod(c.Self-i)
		b.Send(to, c.block(Src, to))
		b.Take(from, c.block(Dst, from))
	}
}

// allToAllBruck sends blocks on their way in steps of powers of two, all blocks that take a
// step in one message (Bruck et al.).
func allToAllBruck(c *Call, _ int, b *Builder) {
	at := make([]Span, c.N) // by how far a block has to go in all
	for i := range at {
		at[i] = c.block(Src, c.mod(c.Self+i))
	}
	for d := 1; d < c.N; d *= 2 {
		var far []int
		for i := range at {
			if i&d != 0 {
				far = append(far, i)
			}
		}
		out := b.Temp(len(far) * c.Bytes)
		for j, i := range far {
			b.Copy(out.Part(j*c.Bytes, c.Bytes), at[i])
		}
		b.Send(c.mod(c.Self+d), out)
		in := b.TakeTemp(c.mod(c.Self-d), out.Len)
		for j, i := range far {
			at[i] = in.Part(j*c.Bytes, c.Bytes)
		}
	}
	for i, s := range at {
		b.Copy(c.block(Dst, c.mod(c.Self-i)), s)
	}
}
