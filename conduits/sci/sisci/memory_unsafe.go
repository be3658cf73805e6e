package sisci

import "unsafe"

// BlockSize is how much of a Sparse segment gets memory at a time, in bytes.
const BlockSize = 1 << 10

// memory is that of a modelled segment, either in one piece or in blocks, which are made when
// they are first asked for: by whoever stores to them, or by Block.
type memory struct {
	mem    []byte           // nil live, and if there are blocks
	blocks []unsafe.Pointer // of BlockSize bytes, the last of what is left
}

// newBlocks returns the memory of a Sparse segment of size bytes.
func newBlocks(size int) memory {
	return memory{blocks: make([]unsafe.Pointer, (size+BlockSize-1)/BlockSize)}
}

// at returns memory from off of a modelled segment on: n bytes, or fewer up to the end of
// a block.
func (s *LocalSegment) at(off, n int) []byte {
	if s.blocks == nil {
		return s.mem[off : off+n : off+n]
	}
	i, first := off/BlockSize, off%BlockSize
	size := min(BlockSize, s.size-i*BlockSize)
	b := &s.blocks[i]
	if *b == nil {
		*b = unsafe.Pointer(unsafe.SliceData(alignedBytes(size)))
	}
	return unsafe.Slice((*byte)(*b), size)[first:min(first+n, size)]
}
