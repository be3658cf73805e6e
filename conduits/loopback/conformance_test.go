package loopback_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"

	_ "github.com/aqueduct-go/aqueduct/conduits/loopback"
)

func init() {
	core.Register(coretest.Checked("loopback"))
	core.Register(coretest.Adverse("loopback"))
	core.Register(coretest.Lent("loopback"))
	core.Register(core.Driver{Name: "spinning", New: func(string) core.Conduit {
		d, _ := core.DriverByName("loopback")
		return spinning{d.New("default")}
	}})
	core.Register(coretest.Checked("spinning"))
	core.Register(coretest.Adverse("spinning"))
}

// spinning is a conduit that spins in place of polls at full speed.
type spinning struct{ core.Conduit }

func (s spinning) Powers() core.Powers {
	p := s.Conduit.Powers()
	p.Spinner = s
	return p
}

func (s spinning) Spin(budget int) int { return s.Poll(budget) }

func TestConformance(t *testing.T) {
	// One request under way per pair, and ranks that sleep at the first opportunity: whatever
	// loses credits or wake-ups shows here.
	narrow := core.Config{
		Conduit: "loopback", Threads: core.Many, Sleep: 1,
		Settings: map[string]string{"depth": "1"},
	}
	one, model := coretest.Goroutines, coretest.Model
	coretest.Suite(t, coretest.Cases(),
		coretest.Kind{Name: "many", Launcher: one, Config: core.Config{Conduit: "loopback", Threads: core.Many}, Factors: "live many", AllSizes: true},
		coretest.Kind{Name: "single", Launcher: one, Config: core.Config{Conduit: "loopback", Threads: core.Single}, Factors: "live single"},
		coretest.Kind{Name: "narrow", Launcher: one, Config: narrow, Factors: "live many"},
		coretest.Kind{Name: "model", Launcher: model, Config: core.Config{Conduit: "loopback", Seed: 1}, Factors: "model"},
		coretest.Kind{Name: "native/many", Launcher: one, Config: core.Config{Conduit: "loopback", Profile: "native", Sleep: 1}, Factors: "live many"},
		coretest.Kind{Name: "native/model", Launcher: model, Config: core.Config{Conduit: "loopback", Profile: "native", Seed: 1}, Factors: "model"},
		coretest.Kind{Name: "checked/many", Launcher: one, Config: core.Config{Conduit: "checked-loopback", Profile: "native"}, Factors: "checked live"},
		coretest.Kind{Name: "checked/model", Launcher: model, Config: core.Config{Conduit: "checked-loopback", Profile: "native", Seed: 1}, Factors: "checked model"},
		coretest.Kind{Name: "adverse/many", Launcher: one, Config: core.Config{Conduit: "adverse-loopback", Profile: "native", Sleep: 1}, Factors: "adverse live"},
		coretest.Kind{Name: "adverse/model", Launcher: model, Config: core.Config{Conduit: "adverse-loopback", Profile: "native", Seed: 1}, Factors: "adverse model"},
		coretest.Kind{Name: "lent", Launcher: one, Config: core.Config{Conduit: "lent-loopback", Threads: core.Single}, Factors: "lent"},
	)
}

// TestOneSided runs the cases of one-sided operations where there is little room for them, and
// small and large ones are declined.
func TestOneSided(t *testing.T) {
	scarce := map[string]string{"operations": "1", "native-least": "9", "native-most": "1000"}
	kind := func(name string, l coretest.Launcher, cfg core.Config) coretest.Kind {
		cfg.Conduit, cfg.Profile = "loopback", "native"
		return coretest.Kind{Name: name, Launcher: l, Config: cfg}
	}
	some := slices.DeleteFunc(coretest.Cases(), func(c *coretest.Case) bool { return !strings.Contains(c.Name, "one-sided") })
	coretest.Suite(t, some,
		kind("single", coretest.Goroutines, core.Config{Threads: core.Single}),
		kind("narrow", coretest.Goroutines, core.Config{Threads: core.Many, Sleep: 1, Settings: scarce}),
		kind("narrow/model", coretest.Model, core.Config{Settings: scarce}))
}

// TestSpinning has the conduits that stand on another one notice that it spins.
func TestSpinning(t *testing.T) {
	some := slices.DeleteFunc(coretest.Cases(), func(c *coretest.Case) bool { return !strings.HasPrefix(c.Name, "message") })
	kind := func(name string) coretest.Kind {
		return coretest.Kind{Name: name, Launcher: coretest.Goroutines, Config: core.Config{Conduit: name + "-spinning", Threads: core.Single}}
	}
	coretest.Suite(t, some, kind("checked"), kind("adverse"))
}
