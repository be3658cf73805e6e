package am2

// BlockSize is how many bytes a Block takes: the largest datagram, or as many as a kernel
// joins of smaller ones.
const BlockSize = 1 << 16

// blockSlack lies behind a block's bytes, because a message's arguments are a window of
// MaxArgs words, however many there are.
const blockSlack = 4 * MaxArgs

// Block is memory for the driver to receive into, one datagram or several of them. Packets
// that wait for their delivery lie in it, so its users are counted.
type Block struct {
	memory []byte
	users  int
	pool   *blocks
	next   *Block // of those that are free
}

// Bytes returns the BlockSize bytes to receive into.
func (k *Block) Bytes() []byte {
	return k.memory[: len(k.memory)-blockSlack : len(k.memory)-blockSlack]
}

// Release ends a use of the block: the driver calls it once when it has handed over all
// datagrams of the block.
func (k *Block) Release() {
	if k.users--; k.users == 0 {
		k.pool.used--
		k.next, k.pool.free = k.pool.free, k
	}
}

// hold begins a further use.
func (k *Block) hold() { k.users++ }

// blocks are the blocks of one size.
type blocks struct {
	size int
	free *Block // used last, and so on
	used int
}

// get returns a block with one user.
func (p *blocks) get() *Block {
	p.used++
	k := p.free
	if k == nil {
		k = &Block{memory: make([]byte, p.size+blockSlack), pool: p}
	}
	k.users, k.next, p.free = 1, nil, k.next
	return k
}
