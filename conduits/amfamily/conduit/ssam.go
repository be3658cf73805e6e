package conduit

import (
	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/conduits/amfamily/ssam"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// SSAM, by traps: the more ranks share an input FIFO, the smaller is the largest message.
func init() {
	register("ssam", "SSAM, modelled on Sun workstations with SBA-100 cards at an ATM switch", "sba100", none, func(machine string) (*system, error) {
		p, err := ssam.Load(machine)
		if err != nil {
			return nil, err
		}
		return &system{
			ordered: true,
			most:    p.Window,
			copied:  p.Memory.Copy.Time,
			build: func(loop *vtime.Loop, n int, image amfamily.Image) ([]amfamily.Claimer, error) {
				c, err := ssam.NewCluster(loop, p, ssam.Traps, n)
				if err != nil {
					return nil, err
				}
				return claimers(c.Program(image))
			},
		}, nil
	})
}
