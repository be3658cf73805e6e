package spawner

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
)

// FuzzPlace: whatever ranks say of where they are, it can be told, and judged.
func FuzzPlace(f *testing.F) {
	for _, p := range []core.Place{
		{State: "has not polled", For: time.Second},
		{Rank: 7, Waits: []core.Wait{{For: "x", Since: 1, Need: &core.Need{Key: "x", Number: 1, Members: []core.Rank{0, 9}}}}, Entered: map[string]uint64{"x": 1}},
		{Returned: true, Waits: []core.Wait{{For: "y"}, {}}, Traffic: []core.PeerCounts{{Peer: -1}}},
	} {
		text, err := json.Marshal(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, one, other []byte) {
		var places []core.Place
		for rank, text := range [][]byte{one, other} {
			p, err := decodePlace(rank, text)
			if err != nil {
				return
			}
			if int(p.Rank) != rank {
				t.Fatalf("rank %d says that it is rank %d", rank, p.Rank)
			}
			places = append(places, *p)
		}
		var s core.Survey
		for rank := range places {
			s.Judge(core.Stall{Rank: core.Rank(rank), Waited: time.Second, Report: true, Debug: true}, places)
		}
		core.Table(places)
	})
}
