package conduit

import (
	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/conduits/amfamily/hpam"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// key is that of the one program on the workstations.
const key = 1

// HPAM: as many ranks as a card's receive buffers are enough for. Requests in different buffers may overtake each other.
func init() {
	register("hpam", "HPAM, modelled on HP workstations with Medusa cards in an FDDI ring", "hp735", none, func(machine string) (*system, error) {
		p, err := hpam.Load(machine)
		if err != nil {
			return nil, err
		}
		return &system{
			most:   func(int) int { return p.Most() },
			copied: p.Memory.Copy.Time,
			build: func(loop *vtime.Loop, n int, image amfamily.Image) ([]amfamily.Claimer, error) {
				c, err := hpam.NewCluster(loop, p, n)
				if err != nil {
					return nil, err
				}
				return claimers(c.Program(key, image))
			},
		}, nil
	})
}
