package sci

import (
	"math"

	"github.com/aqueduct-go/aqueduct/core/settings"
)

// params are the settings of the conduit.
type params struct {
	// forcedScan is the number of empty polls after which all flags are looked at whatever
	// the summary says: a guard against a lost summary flag; 0: never.
	forcedScan int
	fences     bool // publish with full barriers even if membarrier exists
	faults     int  // one in this many operations of the network fails, for tests; 0: none
	copied     bool // paper: a Medium's payload is copied behind its header and sent with it
	dmaFrom    int  // bytes from which puts go by DMA; 0: as the machine suggests

	hostFile string // see bootfile.go
	jobFile  string
}

// defaultForcedScan is the published number of empty polls (GASNet sci-conduit sources).
const defaultForcedScan = 1_000_000

func defaults() params { return params{forcedScan: defaultForcedScan} }

// table sets p to the defaults and returns the settings of a profile, bound to it.
func (p *params) table(profile string) settings.Table {
	*p = defaults()
	modelled := profile != "live" && profile != "paper"
	noFaults := "only profile paper repeats what is lost"
	if modelled {
		noFaults = "a modelled machine has faults of its own; give error.lost and error.busy in a machine file"
	}
	return settings.Table{
		settings.Int("forced-scan", &p.forcedScan, 1, math.MaxInt,
			"empty polls after which all flags are looked at whatever the summary says: a guard, which should never find anything; off for tests", settings.Is("off", 0)).OwnPerRank(),
		settings.Choice("publish", &p.fences, "live: how messages are published; fence: with full barriers, as where membarrier is missing",
			settings.Is("store", false), settings.Is("fence", true)).Only(!modelled, "modelled machines know no fences; what they store arrives in order"),
		settings.Int("faults", &p.faults, 2, math.MaxInt,
			"paper: one in so many operations of the network fails at random, for tests; transfers are repeated until their sequence says that they arrived", settings.Is("none", 0)).Only(profile == "paper", noFaults),
		settings.Choice("medium", &p.copied, "how the published layout sends a Medium: transfers, header and payload one after the other under one sequence; copy, the payload copied behind the header and both sent together",
			settings.Is("transfers", false), settings.Is("copy", true)).Only(profile != "live", "profile live does not have the published layout"),
		settings.Size("dma-from", &p.dmaFrom, 1, math.MaxInt, "modelled: bytes from which puts go by DMA; auto: as the machine suggests",
			settings.Is("never", math.MaxInt), settings.Is("auto", 0)).Only(modelled, "only modelled machines put by DMA"),
		settings.File("hosts", &p.hostFile, "a file that maps hosts to SCI nodes"),
		settings.File("job", &p.jobFile, "a file with the hosts of this job"),
	}
}

// parseParams reads the settings of a profile.
func parseParams(profile string, values map[string]string) (p params, err error) {
	p = defaults()
	err = settings.Read("sci", values, func() settings.Table { return p.table(profile) })
	return p, err
}

// profile returns the profile that the node is of.
func (b *base) profile() string {
	switch {
	case b.machine != "":
		return b.machine
	case b.checked:
		return "paper"
	}
	return "live"
}
