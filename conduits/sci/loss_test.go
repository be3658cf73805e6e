package sci_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// The loss of a node ends the job when its peers' drivers have found out, for ranks that wait
// as for ranks that send.
func TestNodeLoss(t *testing.T) {
	const at = 5 * vtime.Millisecond
	for _, sends := range []bool{false, true} {
		cfg := on("d339")
		cfg.Losses = []core.Loss{{Rank: 1, At: at}}
		var end core.Time
		err := coretest.Twice(t, 3, cfg, func(j *core.Job) error {
			told := 0
			ep, err := j.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
				{Index: 128, Func: func(tok *core.Token, _ []uint32, _ []byte) { _ = tok.ReplyShort(129) }},
				{Index: 129, Func: func(*core.Token, []uint32, []byte) { told++ }},
			}})
			defer func() {
				if j.Rank() == 0 {
					end = j.Now()
				}
			}()
			for i := 0; err == nil && sends && j.Rank() == 0; i++ {
				err = errors.Join(ep.RequestShort(1, 128), ep.WaitUntil(func() bool { return told > i }))
			}
			if err != nil {
				return err
			}
			return ep.WaitUntil(func() bool { return false })
		})
		if core.StatusOf(err) != 137 || !strings.Contains(err.Error(), "the node of rank 1 is lost") {
			t.Errorf("sends %v: status %d, %v", sends, core.StatusOf(err), err)
		}
		if end < at+vtime.Millisecond || end > at+vtime.FromDuration(50*time.Millisecond) {
			t.Errorf("sends %v: the job ends at %v", sends, end)
		}
	}
}
