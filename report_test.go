package aqueduct

import (
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

func TestReport(t *testing.T) {
	r := core.ModelReport{
		Model: "loopback/default", Ranks: 3, Time: 40 * vtime.Nanosecond, Events: 12, Switches: 6, Host: time.Microsecond,
		Disturbed: "rank 1 has measured",
		Usage: []core.ResourceUsage{
			{Name: "bus", Uses: 1, Busy: 30 * vtime.Nanosecond},
			{Name: "link", Uses: 2, Busy: 20 * vtime.Nanosecond, Waited: 10 * vtime.Nanosecond, Longest: 10 * vtime.Nanosecond},
		},
	}
	const head = "model loopback/default: 3 ranks, 40ns of virtual time in 1µs on the host\n" +
		"12 events (12.00 million/s), 6 rank switches (6.00 million/s)\n"
	const want = head + "not deterministic: rank 1 has measured\n" +
		"RESOURCE  USES  BUSY    MEAN WAIT  LONGEST\n" +
		"bus       1     75.0 %  0s         0s\n" +
		"link      2     50.0 %  5ns        10ns\n"
	var text strings.Builder
	if err := writeReport(&text, &r); err != nil || text.String() != want {
		t.Errorf("%v\n%swant:\n%s", err, text.String(), want)
	}
	r.Disturbed, r.Usage = "", nil
	text.Reset()
	if err := writeReport(&text, &r); err != nil || text.String() != head {
		t.Errorf("%v\n%swant:\n%s", err, text.String(), head)
	}
	r.Usage = make([]core.ResourceUsage, reportedResources+2)
	text.Reset()
	if err := writeReport(&text, &r); err != nil || !strings.HasSuffix(text.String(), "\nand 2 more\n") {
		t.Errorf("%v\n%s", err, text.String())
	}
}
