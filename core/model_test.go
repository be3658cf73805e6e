package core_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
)

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
