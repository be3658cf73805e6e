package against_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/bench/against"
)

// What the tools print, shortened.
const (
	fiPingPong = "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n" +
		"64      2k      =2k      250k        0.19s      1.35      47.26       0.02\n"
	ucxPerftest = "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n" +
		"1000,3.512,9.356,9.356,6.52,6.52,106886,106886\n2000,3.5,9.3,9.25,6.52,6.52,106886,106900\n"
	iperf3 = `{"start": {}, "end": {"sum_sent": {"bytes": 67108864, "seconds": 0.02}, "sum_received": {"bytes": 67108864, "seconds": 0.5}}}`
)

func TestLastOf(t *testing.T) {
	for _, c := range []struct {
		text, title string
		want        float64
	}{
		{fiPingPong, "usec/xfer", 47.26},
		{ucxPerftest, "overall_lat", 9.25},
		{ucxPerftest, "overall_mr", 106900},
	} {
		if got, err := against.LastOf([]byte(c.text), c.title); got != c.want || err != nil {
			t.Errorf("%s: %v, %v; want %v", c.title, got, err, c.want)
		}
	}
	for _, text := range []string{"", "1 2 3", "a usec/xfer", "a usec/xfer\n1", "a usec/xfer\n1 x"} {
		if got, err := against.LastOf([]byte(text), "usec/xfer"); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestParseIperf3 wants the time of the receiver, and nothing where some bytes were not counted.
func TestParseIperf3(t *testing.T) {
	if got, err := against.ParseIperf3(1<<20, []byte(iperf3)); got != 0.5e9/64 || err != nil {
		t.Errorf("%v ns, %v; want those of 1 MiB of 64 in half a second", got, err)
	}
	partial := strings.Replace(iperf3, `"sum_received": {"bytes": 67108864`, `"sum_received": {"bytes": 67100000`, 1)
	for _, text := range []string{"", "{}", `{"error": "unable to connect"}`, `{"end": {"sum_received": {"bytes": 0, "seconds": 1}}}`, `{"end": 1}`, partial} {
		if got, err := against.ParseIperf3(1000, []byte(text)); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// FuzzParse wants no panic, whatever a tool prints, and a number only of a title that is there.
func FuzzParse(f *testing.F) {
	f.Add([]byte(fiPingPong), "usec/xfer")
	f.Add([]byte(ucxPerftest), "overall_lat")
	f.Add([]byte(iperf3), "end")
	f.Fuzz(func(t *testing.T, text []byte, title string) {
		against.ParseIperf3(8, text)
		if _, err := against.LastOf(text, title); err == nil && !bytes.Contains(text, []byte(title)) {
			t.Errorf("a value of %q in %q", title, text)
		}
	})
}
