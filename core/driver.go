package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aqueduct-go/aqueduct/core/settings"
)

// Driver makes a kind of conduit known by name, as database/sql drivers are.
type Driver struct {
	Name    string // e.g. "sci"
	Summary string // one line for listings

	// Profiles are the live variants of the conduit, the default first. A driver that names
	// neither profiles nor models has one live variant without a name.
	Profiles []string
	// Profile, if not nil, says whether a name that is not in Profiles stands for a profile too:
	// nil, or what is wrong with it.
	Profile func(name string) error
	// Models are its variants in virtual time, the modelled machines, the default first;
	// none if it has no model. A name may also be in Profiles: the mode of the job decides.
	Models []string
	// Model, if not nil, says whether a name that is not in Models stands for a model too,
	// such as the path of a user's machine file: nil, or what is wrong with it. It is called
	// once per job, before the ranks start; New reads the machine again.
	Model func(name string) error
	// Settings, if not nil, returns the conduit's settings under a profile or model, which has been checked;
	// nil: there are none. Core and aqrun check by it what users say, before New.
	Settings func(profile string) settings.Table

	// PerHost, if not nil, returns how many ranks of consecutive numbers make a host of the job, by settings that have not
	// been checked: in a modelled job those on a node of the machine, live those on a host that is pretended. 0: which
	// ranks share a host the bootstrap says.
	PerHost func(modelled bool, settings map[string]string) int

	// Fits, if not nil, returns nil if a job of so many ranks can have these settings under a profile or model, all of which have been checked one by
	// one: an error says which cannot go together, or with that many ranks, and what to do. It may read files that settings name, and blocks for no others. Aqrun asks
	// before it starts ranks. Attach finds out again, as a program may be started otherwise.
	Fits func(profile string, ranks int, values map[string]string) error

	// Network says that the conduit takes everything to a network, what goes between ranks of one host included, so that
	// these had better talk through memory; see Near.
	Network bool
	// Join, if not nil, says that the conduit makes one of two, and returns its profile and its settings that make one of
	// a conduit through memory, for near ranks, and the named one with a profile, which may be "", and settings.
	Join func(far, profile string, settings map[string]string) (string, map[string]string)

	// Variants, if not nil, returns what Profiles and Models are to be, for a conduit of which
	// several packages are variants. It is called when the driver is looked up.
	Variants func() (profiles, models []string)

	// Check returns nil if the conduit can connect the ranks of group, of the job of boot; nil: it
	// always can. When it is only listed boot is nil, and what counts is whether a live profile
	// can be used here.
	Check func(boot Bootstrap, group []Rank) error
	// New makes a rank's end. profile has been checked: under a model (Attachment.Proc is
	// not nil) it is one of Models or accepted by Model, live one of Profiles or accepted by Profile; it is "" only
	// if the driver names none.
	New func(profile string) Conduit
}

// LiveProfile returns the live profile that name stands for, where "" is the default, or
// an error that lists what there is.
func (d *Driver) LiveProfile(name string) (string, error) {
	switch {
	case len(d.Profiles) == 0 && len(d.Models) > 0:
		return "", fmt.Errorf("core: conduit %s runs in virtual time only; its models: %v", d.Name, d.Models)
	case name == "" && len(d.Profiles) > 0:
		return d.Profiles[0], nil
	case name == "" || slices.Contains(d.Profiles, name):
		return name, nil
	case slices.Contains(d.Models, name):
		return "", fmt.Errorf("core: profile %q of conduit %s is a model; run it with --model %[2]s/%[1]s", name, d.Name)
	case d.Profile != nil:
		if err := d.Profile(name); err != nil {
			return "", fmt.Errorf("core: profile %q of conduit %s: %w", name, d.Name, err)
		}
		return name, nil
	}
	return "", fmt.Errorf("core: conduit %s has no profile %q; it has %v", d.Name, name, d.Profiles)
}

// ModelProfile returns the modelled profile that name stands for, where "" is the default,
// or an error that lists what there is. It may read a file.
func (d *Driver) ModelProfile(name string) (string, error) {
	switch {
	case len(d.Models) == 0:
		return "", fmt.Errorf("core: conduit %q has no model; %s", d.Name, modelled())
	case name == "":
		return d.Models[0], nil
	case slices.Contains(d.Models, name):
		return name, nil
	case slices.Contains(d.Profiles, name):
		return "", fmt.Errorf("core: profile %q of conduit %s runs live only; its models: %v", name, d.Name, d.Models)
	case d.Model == nil:
		return "", fmt.Errorf("core: conduit %s has no model %q; it has %v", d.Name, name, d.Models)
	}
	if err := d.Model(name); err != nil {
		return "", fmt.Errorf("core: model %s/%s: %w", d.Name, name, err)
	}
	return name, nil
}

// Table returns the conduit's settings under a profile or model, as LiveProfile or ModelProfile returns it.
func (d *Driver) Table(profile string) settings.Table {
	if d.Settings == nil {
		return nil
	}
	return d.Settings(profile)
}

// modelled tells which models there are.
func modelled() string {
	var names []string
	for _, d := range Drivers() {
		for _, m := range d.Models {
			names = append(names, d.Name+"/"+m)
		}
	}
	if len(names) == 0 {
		return "none has"
	}
	return "there are " + strings.Join(names, ", ")
}

// known is what init functions have made known.
var known struct {
	sync.Mutex
	drivers   map[string]*Driver // never changed once they are here
	launchers []*Launcher        // replaced, never changed
}

// Register makes a conduit available under d.Name. It is meant for init functions and
// panics if the name is empty or taken.
func Register(d Driver) {
	known.Lock()
	defer known.Unlock()
	if d.Name == "" || d.New == nil {
		panic("core: Register needs a name and a constructor")
	}
	if _, dup := known.drivers[d.Name]; dup {
		panic("core: conduit " + d.Name + " registered twice")
	}
	if known.drivers == nil {
		known.drivers = make(map[string]*Driver)
	}
	known.drivers[d.Name] = &d
}

// Drivers returns the registered conduits in order of name.
func Drivers() []Driver {
	known.Lock()
	defer known.Unlock()
	var ds []Driver
	for _, d := range known.drivers {
		ds = append(ds, *d.complete())
	}
	slices.SortFunc(ds, func(a, b Driver) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return ds
}

// DriverByName returns the conduit registered under name, or an error that lists the
// names there are.
func DriverByName(name string) (Driver, error) {
	d, err := driverOf(name)
	if err != nil {
		return Driver{}, err
	}
	return *d, nil
}

// driverOf is DriverByName without a copy for each frame of those that ask.
func driverOf(name string) (*Driver, error) {
	known.Lock()
	d := known.drivers[name]
	known.Unlock()
	if d == nil {
		return nil, noConduit(name)
	}
	return d.complete(), nil
}

// noConduit says that there is none of the name.
func noConduit(name string) error {
	known.Lock()
	names := slices.Sorted(maps.Keys(known.drivers))
	known.Unlock()
	if strings.Contains(name, "/") {
		return fmt.Errorf("core: %q is no conduit; a model is CONDUIT, CONDUIT/MODEL or CONDUIT/PATH, with a conduit of %v", name, names)
	}
	return fmt.Errorf("core: unknown conduit %q; known: %v", name, names)
}

// complete returns the driver with its variants, for which it asks.
func (d *Driver) complete() *Driver {
	if d.Variants == nil {
		return d
	}
	whole := *d
	whole.Profiles, whole.Models = d.Variants()
	return &whole
}
