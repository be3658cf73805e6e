package myrinet_test

import (
	"errors"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
)

// TestUsage has all ranks of a switch flood one, and two talk through an in-transit host: the report names what was used, and nothing else, and packets that wait for the one's cable.
func TestUsage(t *testing.T) {
	report := func(ranks int, to func(core.Rank) core.Rank, settings ...string) (usage map[string]core.ResourceUsage) {
		cfg := with("", settings...)
		cfg.Report = func(r core.ModelReport) {
			usage = map[string]core.ResourceUsage{}
			for _, u := range r.Usage {
				usage[u.Name] = u
				if u.Uses == 0 || u.Busy == 0 || u.Busy > r.Time || u.Longest > u.Waited || u.Waited > core.Time(u.Uses)*u.Longest {
					t.Errorf("%v: %+v", settings, u)
				}
			}
		}
		if err := core.RunModel(ranks, cfg, func(j *core.Job) error {
			told := 0
			ep, err := attach(j, &told)
			for i := 0; i < 50 && err == nil; i++ {
				err = ep.RequestMedium(to(j.Rank()), ask, make([]byte, 400), uint32(i))
			}
			return errors.Join(err, ep.WaitUntil(func() bool { return told == 50 }))
		}); err != nil {
			t.Error(err)
		}
		return usage
	}
	crowd := report(5, func(core.Rank) core.Rank { return 0 })
	if u := crowd["cable from s0:0 to h0"]; u.Uses < 5*50 || u.Longest == 0 || len(crowd) != 2*5+2*5 {
		t.Errorf("where 5 ranks send to one, the cable to it has %+v; there are %d resources", u, len(crowd))
	}
	pair := report(2, func(r core.Rank) core.Rank { return 1 - r }, ring, transits)
	through, sends := pair["cable from "+between+" to s3:2"], pair["cable from h0 to s2:2"]
	if u, used := pair["bus of "+between]; used || through.Uses <= sends.Uses || pair["NIC's processor of "+between].Longest == 0 || len(pair) != 10+3+2 {
		t.Errorf("between two ranks: %+v, as %+v, and %+v: %v", through, sends, u, pair)
	}
}
