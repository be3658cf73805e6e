package pgas

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/aqueduct-go/aqueduct/extended"
)

// claim is a range of a rank's own segment that a heap has. It does not refer to the heap,
// which would keep the endpoint.
type claim struct {
	extent
	owner string // the heap's name in errors
}

func (x claim) String() string {
	return fmt.Sprintf("%s at bytes %d to %d", x.owner, x.off, x.off+x.size)
}

// claims holds the claims of all endpoints of this process. An endpoint that is no more takes
// its own along.
var claims = struct {
	sync.Mutex
	of map[weak.Pointer[extended.Endpoint]][]claim
}{of: make(map[weak.Pointer[extended.Endpoint]][]claim)}

// claimRange notes that the heap has its range, and refuses what another one has.
func (h *Heap) claimRange(call string) error {
	mine := claim{extent{h.off, h.size}, "the local heap"}
	if h.team != nil {
		mine.owner = fmt.Sprintf("the heap of %v", h.team)
	}
	key := weak.Make(h.ep)
	claims.Lock()
	defer claims.Unlock()
	for _, x := range claims.of[key] {
		if mine.off < x.off+x.size && x.off < mine.off+mine.size {
			return h.ep.Core().Misuse(call, "%v would overlap %v; give each a range of its own by NewHeapIn or NewLocalHeap, or Close the other first", mine, x)
		}
	}
	if claims.of[key] == nil {
		runtime.AddCleanup(h.ep, forget, key)
	}
	claims.of[key] = append(claims.of[key], mine)
	return nil
}

// forget drops the claims of an endpoint.
func forget(key weak.Pointer[extended.Endpoint]) {
	claims.Lock()
	defer claims.Unlock()
	delete(claims.of, key)
}

// release gives the heap's range back.
func (h *Heap) release() {
	key := weak.Make(h.ep)
	claims.Lock()
	defer claims.Unlock()
	claims.of[key] = slices.DeleteFunc(claims.of[key], func(x claim) bool { return x.extent == extent{h.off, h.size} })
}
