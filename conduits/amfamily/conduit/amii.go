package conduit

import (
	"github.com/aqueduct-go/aqueduct/conduits/amfamily"
	"github.com/aqueduct-go/aqueduct/conduits/amfamily/amii"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// tag is that of the one virtual network in the cluster.
const tag = 1

// AM-II: as many ranks as the NICs' memory has room for. Packets that are sent again are overtaken.
func init() {
	register("amii", "AM-II, modelled on UltraSPARCs with LANai 4 in a Myrinet", "now-lanai4", (*params).waits, func(machine string) (*system, error) {
		p, err := amii.Load(machine)
		if err != nil {
			return nil, err
		}
		return &system{
			long:   int(p.AM2.Bulk),
			most:   func(int) int { return int(p.AM2.Fragment) },
			copied: p.Host.Copy.Time,
			build: func(loop *vtime.Loop, n int, image amfamily.Image) ([]amfamily.Claimer, error) {
				c, err := amii.NewNetwork(loop, p, n)
				if err != nil {
					return nil, err
				}
				return claimers(c.Program("core", tag, image, func(_ int, o *amii.Options) { o.Long = image[handler] }))
			},
		}, nil
	})
}
