package libmpi

import "github.com/aqueduct-go/aqueduct/core/settings"

// choices are the settings of the network.
type choices struct {
	eager int    // bytes up to which messages are sent without asking; 0: as the library does
	rma   rma    // how ranks get at segments without messages
	takes taking // which collective operations are MPI's
}

// rma is the setting that says how ranks get at segments without messages.
type rma uint8

const (
	rmaAuto   rma = iota // rmaShared if the host has room for it, else rmaOff
	rmaShared            // those of one host are memory that they share
	rmaOff
)

// taking says which collective operations are left to MPI.
type taking uint8

const (
	takesFaster taking = iota // those that were found to be faster with every library
	takesAll
	takesNone
)

// table returns the settings, bound to c.
func (c *choices) table() settings.Table {
	return settings.Table{
		settings.Size("eager", &c.eager, 512, 1<<20, "bytes up to which the library sends a message without asking its receiver; longer ones go as messages of their own; auto: 4032 over Open MPI, 8064 over MPICH", settings.Is("auto", 0)),
		settings.Choice("rma", &c.rma, "how ranks get at each other's segments without messages; auto: shared where there is room",
			settings.Is("auto", rmaAuto), settings.Is("shared", rmaShared), settings.Is("off", rmaOff)),
		settings.Choice("collectives", &c.takes, "which collective calls of the world are MPI's own: auto, those that are faster so; native, all that MPI has; own, none",
			settings.Is("auto", takesFaster), settings.Is("native", takesAll), settings.Is("own", takesNone)),
	}
}
