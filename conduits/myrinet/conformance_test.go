package myrinet_test

import (
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"

	_ "github.com/aqueduct-go/aqueduct/conduits/myrinet"
)

func init() {
	core.Register(coretest.Checked("myrinet"))
	core.Register(coretest.Adverse("myrinet"))
	core.Register(coretest.Lent("myrinet"))
}

func TestConformance(t *testing.T) {
	kind := func(name, factors string, cfg core.Config) coretest.Kind {
		if cfg.Conduit == "" {
			cfg.Conduit = "myrinet"
		}
		return coretest.Kind{Name: name, Launcher: coretest.Model, Config: cfg, Factors: factors}
	}
	coretest.Suite(t, coretest.Cases(),
		kind("star", "", core.Config{Seed: 1}),
	)
}
