package hardware

import (
	"testing"
	"unsafe"
)

// TestPacketLines wants three cache lines for a packet: its way in the first, what becomes of it in
// the second, and bytes of flags with what refers to them in the third.
func TestPacketLines(t *testing.T) {
	const line = 64
	var p packet
	if size, room := unsafe.Sizeof(p), unsafe.Sizeof(uintptr(0)); room == 8 && (size != 3*line || unsafe.Offsetof(p.kind) != line || unsafe.Offsetof(p.told) != 2*line) {
		t.Errorf("%d bytes, what becomes of it from %d on, its bytes from %d on; want 3 lines of %d", size, unsafe.Offsetof(p.kind), unsafe.Offsetof(p.told), line)
	}
}
