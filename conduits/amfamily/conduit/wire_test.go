package conduit

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/core"
)

// TestPack has messages of every kind, with every number of arguments, come out as they went in, in no more data than Reserve
// claims for them: none for a Short of three arguments.
func TestPack(t *testing.T) {
	var args [core.MaxArgs]uint32
	for i := range args {
		args[i] = uint32(i+1) * 0x01010101
	}
	for _, kind := range []core.Kind{core.Short, core.Medium, core.Long} {
		for n := range core.MaxArgs + 1 {
			h, off, payload := core.MakeHeader(200, kind, n%2 == 0, n), uint64(0), []byte(nil)
			if kind != core.Short {
				payload = []byte("what is sent")
			}
			if kind == core.Long {
				off = 1<<40 + 7
			}
			words, data := pack(h, off, &args, bytes.Clone(payload))
			if most := len(payload) + moreBytes; len(data) > most || n <= inWords && kind != core.Long && len(data) > len(payload) {
				t.Errorf("%v: %d bytes of data", h, len(data))
			}
			var got [core.MaxArgs]uint32
			h2, off2, payload2, ok := unpack(&words, data, &got)
			if !ok || h2 != h || off2 != off || !bytes.Equal(payload2, payload) || !bytes.Equal(asBytes(got[:n]), asBytes(args[:n])) {
				t.Errorf("%v at %d comes out as %v at %d, %q, %x, %v", h, off, h2, off2, payload2, got, ok)
			}
		}
	}
}

func asBytes(words []uint32) []byte {
	b, _ := binary.Append(nil, binary.BigEndian, words)
	return b
}

// FuzzUnpack has what unpack takes for a message be the same when it is packed again.
func FuzzUnpack(f *testing.F) {
	f.Add(uint32(core.MakeHeader(1, core.Short, false, 3)), uint32(1), uint32(2), uint32(3), []byte(nil))
	f.Add(uint32(core.MakeHeader(1, core.Medium, false, 5)), uint32(1), uint32(2), uint32(3), []byte("data and 5 words"))
	f.Add(uint32(core.MakeHeader(255, core.Long, true, 16)), uint32(1), uint32(2), uint32(3), make([]byte, moreBytes))
	f.Fuzz(func(t *testing.T, a, b, c, d uint32, data []byte) {
		words := [amfamily.Args]uint32{a, b, c, d}
		var args [core.MaxArgs]uint32
		h, off, payload, ok := unpack(&words, data, &args)
		if !ok {
			return
		}
		again, text := pack(h, off, &args, bytes.Clone(payload))
		for i := wordsOf(h); i < inWords; i++ {
			again[1+i] = words[1+i] // nobody looks at it
		}
		if again != words || !bytes.Equal(text, data) {
			t.Errorf("%x %x comes out as %x %x", words, data, again, text)
		}
	})
}
