package conduit

import "github.com/aqueduct-go/aqueduct/core/settings"

// params are the settings of the conduits; each has those of its system.
type params struct {
	sleeps bool // a rank that waits
}

// none are the settings of a system that has none.
func none(*params) settings.Table { return nil }

// waits sets p to the defaults and returns the settings of a system whose ranks can sleep, bound to it.
func (p *params) waits() settings.Table {
	*p = params{}
	return settings.Table{
		settings.Choice("wait", &p.sleeps, "what a rank does while it waits: it polls; or it sleeps, and the NIC's interrupt wakes it when something has come",
			settings.Is("poll", false), settings.Is("sleep", true)),
	}
}

// params reads the settings.
func (c *conduit) params(values map[string]string) (p params, err error) {
	err = settings.Read(c.name, values, func() settings.Table { return c.table(&p) })
	return p, err
}
