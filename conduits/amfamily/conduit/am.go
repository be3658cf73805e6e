package conduit

import (
	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/conduits/amfamily/am"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// The original Active Messages: no buffers, and as many ranks as wanted.
func init() {
	register("am", "the original Active Messages, modelled on a parallel machine with user-level ports", "mpp", none, func(machine string) (*system, error) {
		p, err := am.Load(machine)
		if err != nil {
			return nil, err
		}
		return &system{
			ordered: true,
			most:    func(int) int { return int(p.AM.Message) },
			copied:  p.Memory.Copy.Time,
			build: func(loop *vtime.Loop, n int, image amfamily.Image) ([]amfamily.Claimer, error) {
				return claimers(am.New(loop, p, n, 0, image))
			},
		}, nil
	})
}
