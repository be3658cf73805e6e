package core_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
)

func TestParseLoss(t *testing.T) {
	for text, want := range map[string]core.Loss{
		"0@0s": {}, "3@1.5ms": {Rank: 3, At: 1_500_000_000}, "65535@2s": {Rank: 65535, At: 2_000_000_000_000},
	} {
		if got, err := core.ParseLoss(text); got != want || err != nil {
			t.Errorf("ParseLoss(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "3", "@1ms", "3@", "3@5", "-1@1ms", "3@-1ms", "03@1ms", "+3@1ms", "3 @1ms", "x@1ms", "99999999999@1s", "3@1ms@2ms"} {
		if got, err := core.ParseLoss(text); err == nil {
			t.Errorf("ParseLoss(%q) = %v", text, got)
		}
	}
}

func FuzzParseLoss(f *testing.F) {
	f.Add("3@1.5ms")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := core.ParseLoss(text)
		if err != nil {
			return
		}
		again, err := core.ParseLoss(fmt.Sprintf("%d@%v", l.Rank, l.At.Duration()))
		if err != nil || again != l || l.Rank < 0 || l.At < 0 {
			t.Errorf("ParseLoss(%q) = %v, and read again %v, %v", text, l, again, err)
		}
	})
}

func TestDriverModels(t *testing.T) {
	broken := errors.New("no such machine file")
	d := core.Driver{Name: "d", Profiles: []string{"live", "both"}, Models: []string{"m", "both"}, Model: func(name string) error {
		if name == "./mine" {
			return nil
		}
		return broken
	}}
	for _, c := range []struct {
		resolve    func(string) (string, error)
		name, want string
	}{
		{d.LiveProfile, "", "live"}, {d.LiveProfile, "both", "both"}, {d.ModelProfile, "", "m"},
		{d.ModelProfile, "both", "both"}, {d.ModelProfile, "./mine", "./mine"},
		{(&core.Driver{Name: "plain"}).LiveProfile, "", ""},
	} {
		if got, err := c.resolve(c.name); got != c.want || err != nil {
			t.Errorf("%q is %q, %v; want %q", c.name, got, err, c.want)
		}
	}
	for _, c := range []struct {
		resolve   func(string) (string, error)
		name, say string
	}{
		{d.LiveProfile, "m", "--model d/m"}, {d.LiveProfile, "x", "it has [live both]"},
		{d.ModelProfile, "live", "runs live only"}, {d.ModelProfile, "./other", broken.Error()},
		{(&core.Driver{Name: "plain"}).ModelProfile, "", "has no model"},
		{(&core.Driver{Name: "only", Models: []string{"m"}}).LiveProfile, "", "virtual time only"},
	} {
		if got, err := c.resolve(c.name); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%q is %q, %v; want an error that says %q", c.name, got, err, c.say)
		}
	}
}
