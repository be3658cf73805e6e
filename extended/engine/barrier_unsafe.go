package engine

import (
	"reflect"
	"unsafe"
)

// setSchedule gives the barrier its steps, and what it hears of in them.
func (b *barrierState) setSchedule(moves []move, hears []hearing) {
	b.moves, b.movesLen = unsafe.SliceData(moves), uint32(len(moves))
	b.hears, b.hearsLen = unsafe.SliceData(hears), uint32(len(hears))
}

func (b *barrierState) steps() []move { return unsafe.Slice(b.moves, b.movesLen) }

func (b *barrierState) hearings() []hearing { return unsafe.Slice(b.hears, b.hearsLen) }

// Relocate has the barrier lie in memory outside the Go heap, so that code in another language can do what the methods do, where they might
// be called. memory returns so many bytes of it, which are 0 and stay until the process ends. Relocate returns where the barrier lies: a
// value of the last one of ForeignTypes.
func (b *Barrier) Relocate(memory func(bytes uintptr) unsafe.Pointer) unsafe.Pointer {
	moves, hears := b.steps(), b.hearings()
	m := unsafe.Slice((*move)(memory(unsafe.Sizeof(move{})*uintptr(len(moves)))), len(moves))
	h := unsafe.Slice((*hearing)(memory(unsafe.Sizeof(hearing{})*uintptr(len(hears)))), len(hears))
	copy(m, moves)
	copy(h, hears)
	s := (*barrierState)(memory(unsafe.Sizeof(barrierState{})))
	*s = *b.barrierState
	s.setSchedule(m, h)
	b.barrierState = s
	return unsafe.Pointer(s)
}

// ForeignTypes returns the types that a barrier consists of, each after those that it consists of itself, with the name of each.
func ForeignTypes() (types []reflect.Type, names []string) {
	for _, x := range []any{Name{}, move{}, hearing{}, barrierState{}} {
		types = append(types, reflect.TypeOf(x))
	}
	return types, []string{"name", "move", "hearing", "barrier"}
}
