package link

import (
	"fmt"
	"math/bits"

	"github.com/aqueduct-go/aqueduct/internal/shm"
)

// A ring is memory that may be shared between processes: the two cursors, and the data behind them. The data has frames, each a word and then its
// bytes, from a multiple of 8 on. The word tells whether the frame is there: the consumer polls that of the next frame, so that a frame that
// fits a cache line comes with one. A frame does not go round the end of the data. What is left there is skipped.
//
// The producer clears the word behind a frame before it publishes the frame. So whatever comes of a producer, the consumer finds whole frames
// and then an empty word.

// Places of the words in front of the data, as indices of 64-bit words. Each side's have two cache lines of their own, since processors
// fetch lines by pairs.
const (
	wordTaken  = 0  // by the consumer: bytes of the data that it has taken since the start
	wordWanted = 16 // by the producer: 1 while it waits for room
	wordsFirst = 32 // the data
)

const (
	wordSize = 8
	minData  = 128
)

// What the low byte of a frame's word says. The length in bytes is above it.
const (
	tagNone  = 0 // nothing is there yet; the word is 0
	tagFrame = 1
	tagSkip  = 2 // the next frame is at the beginning of the data; the length is 0
	tagBits  = 8
)

// RingBytes returns how many bytes of memory a ring takes whose data area has that many. It panics unless data is a power of two, and
// 128 or more.
func RingBytes(data int) int {
	if data < minData || data&(data-1) != 0 {
		panic(fmt.Sprintf("link: a ring of %d bytes; it has a power of two, and %d or more", data, minData))
	}
	return wordsFirst*wordSize + data
}

// ring is a view of a ring's memory.
type ring struct {
	words []uint64 // all of it
	data  []byte
	mask  uint64 // of the data: its size less 1
}

// view looks at memory as a ring.
func view(mem []byte) ring {
	size := len(mem) - wordsFirst*wordSize
	if size < minData || bits.OnesCount(uint(size)) != 1 || !aligned(mem) {
		panic(fmt.Sprintf("link: a ring in %d bytes of memory; it takes what RingBytes says, from a multiple of %d on", len(mem), wordSize))
	}
	return ring{words: words(mem), data: mem[wordsFirst*wordSize:], mask: uint64(size - 1)}
}

// word returns the word at a position of the data.
func (r *ring) word(at uint64) *uint64 { return &r.words[wordsFirst+(at&r.mask)/wordSize] }

// most returns the length of the longest frame. Two such frames with their words fill the data, so that one fits wherever the last has ended.
func (r *ring) most() int { return len(r.data)/2 - wordSize }

// extent returns what a frame of n bytes takes of the data.
func extent(n int) uint64 { return wordSize + uint64(n+wordSize-1)&^(wordSize-1) }

// Writer is the producer's end of a ring. One goroutine uses it.
type Writer struct {
	ring
	head     uint64 // bytes written since the start, skipped ones included
	taken    uint64 // what it knows of the consumer's
	at       uint64 // where the reserved frame's word is
	reserved int    // bytes; -1: nothing is reserved
	waits    bool   // wordWanted is 1
}

// Producer returns the producer's end of a ring. The memory, of RingBytes bytes, is zero when the first end is made, and has one producer
// in its lifetime.
func Producer(mem []byte) *Writer { return &Writer{ring: view(mem), reserved: -1} }

// Most returns the length in bytes of the longest frame that ever fits.
func (w *Writer) Most() int { return w.most() }

// Room reports whether Reserve of n bytes would succeed.
func (w *Writer) Room(n int) bool {
	_, ok := w.place(n)
	return ok
}

// place returns where the word of a frame of n bytes comes to lie. It reports false if there is no room.
func (w *Writer) place(n int) (at uint64, ok bool) {
	at = w.head
	size := extent(n)
	if left := uint64(len(w.data)) - at&w.mask; left < size {
		at += left
	}
	end := at + size + wordSize // the word behind the frame is cleared
	if w.free(end) {
		return at, true
	}
	w.taken = shm.Load64(&w.words[wordTaken])
	return at, w.free(end)
}

// free reports whether the data up to a position is free, by what is known of the consumer's cursor.
func (w *Writer) free(end uint64) bool {
	return w.head-w.taken <= uint64(len(w.data)) && end-w.taken <= uint64(len(w.data))
}

// Err returns an error if the consumer's cursor is none that a Reader writes. There is no room while it is so.
func (w *Writer) Err() error {
	if w.head-w.taken > uint64(len(w.data)) {
		return fmt.Errorf("link: the consumer of a ring claims to have taken %d bytes of %d; its memory has been overwritten", w.taken, w.head)
	}
	return nil
}

// Reserve returns n bytes of the ring's memory for a frame, which are the caller's until Commit. What was reserved before and not committed is
// not any more. It returns nil if there is no room now; then Wanted of the Reader is true until a Reserve succeeds. Who sleeps until then looks at Room once
// more before. It panics if n is more than Most.
func (w *Writer) Reserve(n int) []byte {
	if n < 0 || n > w.most() {
		panic(fmt.Sprintf("link: a frame of %d bytes, for a ring that takes 0 to %d", n, w.most()))
	}
	at, ok := w.place(n)
	if !ok {
		if !w.waits {
			w.waits = true
			shm.Swap64(&w.words[wordWanted], 1) // a full barrier: Room comes after it
		}
		w.reserved = -1
		return nil
	}
	if w.waits {
		w.waits = false
		shm.Publish64(&w.words[wordWanted], 0)
	}
	w.at, w.reserved = at, n
	from := at&w.mask + wordSize
	return w.data[from : from+uint64(n) : from+uint64(n)]
}

// Commit publishes the first n of the reserved bytes as a frame. It panics if fewer are reserved.
func (w *Writer) Commit(n int) {
	if n < 0 || n > w.reserved {
		panic(fmt.Sprintf("link: Commit of %d bytes, of %d reserved", n, w.reserved))
	}
	w.reserved = -1
	end := w.at + extent(n)
	*w.word(end) = tagNone
	word := uint64(n)<<tagBits | tagFrame
	if w.at == w.head {
		shm.Publish64(w.word(w.at), word)
	} else {
		*w.word(w.at) = word
		shm.Publish64(w.word(w.head), tagSkip)
	}
	w.head = end
}

// Unread returns how many bytes of the data are taken by frames that the consumer has not dropped, as far as is known now.
func (w *Writer) Unread() int {
	w.taken = shm.Load64(&w.words[wordTaken])
	return int(w.head - w.taken)
}

// Reader is the consumer's end of a ring. One goroutine uses it. The producer may be another process, and is not trusted: whatever it writes,
// nothing outside of the data is read.
type Reader struct {
	ring
	tail uint64 // bytes taken since the start
	size uint64 // of the frame that Next has returned; 0: none
}

// Consumer returns the consumer's end of a ring, as Producer does the other.
func Consumer(mem []byte) *Reader { return &Reader{ring: view(mem)} }

// Empty reports whether Next would return nil. It is one load.
func (r *Reader) Empty() bool { return shm.Load64(r.word(r.tail)) == tagNone }

// Next returns the oldest frame, or nil if there is none. The frame is in the ring's memory, and Next returns the same one until Drop. An error
// says that the memory has what no Writer writes there.
func (r *Reader) Next() ([]byte, error) {
	word := shm.Load64(r.word(r.tail))
	if word == tagNone {
		return nil, nil
	}
	tail := r.tail
	if word == tagSkip {
		tail += uint64(len(r.data)) - tail&r.mask
		word = shm.Load64(r.word(tail))
	}
	at := tail & r.mask
	n := word >> tagBits
	if word&(1<<tagBits-1) != tagFrame || n > uint64(min(r.most(), len(r.data)-wordSize-int(at))) {
		return nil, fmt.Errorf("link: a ring has the word %#x at byte %d of its data, which begins no frame; its memory has been overwritten", word, at)
	}
	r.tail, r.size = tail, extent(int(n))
	return r.data[at+wordSize : at+wordSize+n : at+wordSize+n], nil
}

// Drop gives the room of the frame that Next has returned back to the producer. Without one it does nothing.
func (r *Reader) Drop() {
	r.tail += r.size
	r.size = 0
	shm.Publish64(&r.words[wordTaken], r.tail)
}

// Wanted reports whether the producer waits for room, and has not seen what has been dropped. A producer that sleeps meanwhile is to be
// woken. It is a full barrier: a producer that it misses sees the room.
func (r *Reader) Wanted() bool {
	shm.Fence()
	return shm.Load64(&r.words[wordWanted]) != 0
}
