package impair_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/impair"
	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]impair.Settings{
		"": {},
		"loss=10%,dup=2%,reorder=5%,corrupt=1%,delay=1ms,jitter=200us,rate=1gbit,queue=100": {
			Loss: .1, Duplicate: .02, Reorder: .05, Corrupt: .01, Delay: time.Millisecond,
			Jitter: 200 * time.Microsecond, Rate: 1e9, Queue: 100,
		},
		"truncate=0.5,hold=3s,burst=2.5,loss=0.25,mtu=1400,reorder=100%": {
			Truncate: .5, Hold: 3 * time.Second, Burst: 2.5, Loss: .25, MTU: 1400, Reorder: 1,
		},
		"rate=1500bit":        {Rate: 1500},
		"rate=2kbit":          {Rate: 2000},
		"rate=0.5mbit":        {Rate: 5e5},
		"loss=100%,burst=1":   {Loss: 1, Burst: 1},
		"loss=75%,burst=3":    {Loss: .75, Burst: 3},
		"loss=0%,delay=0s":    {},
		"rate=1gbit,mtu=1":    {Rate: 1e9, MTU: 1},
		"queue=1,rate=10mbit": {Rate: 1e7, Queue: 1},
	} {
		got, err := impair.Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"speed=1gbit":         `unknown setting "speed"; known: loss, burst,`,
		"loss":                "loss has no value; want loss=VALUE",
		"loss=":               "want a share",
		",":                   `unknown setting ""`,
		"loss=1%,":            `unknown setting ""`,
		"loss=1%,loss=1%":     "given twice",
		"loss=10":             "want a share from 0% to 100%, such as",
		"loss=101%":           "want a share",
		"dup=-1%":             "want a share",
		"reorder=NaN":         "want a share",
		"corrupt=a":           "want a share",
		"burst=3":             "burst=3 means nothing without loss",
		"loss=1%,burst=0.5":   "1 or more",
		"loss=1%,burst=NaN":   "1 or more",
		"loss=1%,burst=Inf":   "1 or more",
		"loss=1%,burst=many":  "want a number",
		"loss=80%,burst=3":    "give a longer burst, or less loss",
		"delay=5":             "want a time, such as",
		"delay=-1ms":          "want a time from 0s",
		"jitter=2h":           "want a time from 0s to 1h",
		"hold=1ms":            "hold=1ms means nothing without reorder",
		"rate=1000":           "want a rate with its unit",
		"rate=0bit":           "want a rate",
		"rate=Infgbit":        "from 1kbit",
		"rate=NaNbit":         "want a rate",
		"rate=1bit":           "from 1kbit",
		"queue=10":            "queue=10 means nothing without a rate",
		"queue=0,rate=1gbit":  "want a number from 1",
		"queue=2e9,rate=1bit": "want a number from 1",
		"mtu=-5":              "want a number from 1",
		"mtu=70000":           "1 to 65535",
	} {
		if _, err := impair.Parse(text); err == nil || !strings.HasPrefix(err.Error(), "impair: ") || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
}

// Settings that no text can give are refused as well.
func TestCheck(t *testing.T) {
	for _, s := range []impair.Settings{{Loss: 2}, {Delay: -1}, {Queue: -1, Rate: 1e6}, {Rate: -5}, {MTU: -1}} {
		if _, err := impair.NewLink(s, 1); err == nil {
			t.Errorf("NewLink takes %+v", s)
		}
		if _, err := impair.NewNet(s, 1); err == nil {
			t.Errorf("NewNet takes %+v", s)
		}
	}
}

// What is parsed can be used, and its text means the same.
func FuzzParse(f *testing.F) {
	f.Add("loss=10%,dup=2%,reorder=5%,corrupt=1%,delay=1ms,jitter=200us,rate=1gbit,queue=100")
	f.Add("truncate=0.5,hold=3s,burst=2.5,loss=0.25,mtu=1400,reorder=100%")
	f.Add("rate=1e3bit,queue=1000000,loss=1e-300,burst=1e300")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := impair.Parse(text)
		if err != nil {
			return
		}
		again, err := impair.Parse(s.String())
		if err != nil || again != s {
			t.Fatalf("%q is %+v; its text %q is %+v, %v", text, s, s, again, err)
		}
		link, err := impair.NewLink(s, 1)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			for _, d := range link.Pass(0, nil, []byte("datagram")) {
				if d.At < 0 {
					t.Fatalf("arrives at %v", d.At)
				}
			}
		}
	})
}
