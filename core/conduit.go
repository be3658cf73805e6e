package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Op describes one active message on its way out. It is owned by a Context (requests)
// or a Token (replies) and reused for every message, so that injection allocates
// nothing. Core fills the first group of fields before Reserve; Reserve fills the
// second; core writes arguments and payload into the windows and calls Commit.
type Op struct {
	Dst Rank   // destination, in 0..Size-1 and in the attached group
	Hdr Header // handler, request or reply, category, argument count
	Len int    // payload bytes; at Commit it may be less than it was at Reserve, never more
	Off uint64 // Long: offset in the destination's segment, range already checked

	// Src, when not nil, is the payload itself, stable until the conduit calls
	// LC.Complete (if LC is not nil; else until the matching reply arrives). Data is nil
	// then, and a conduit may leave it so and take the payload from Src; one that sets Data
	// gets a copy as always and ignores Src and LC.
	Src []byte
	LC  *Completion

	Args *[MaxArgs]uint32 // where the arguments go: all 16 words are writable
	Data []byte           // where the payload goes: Len bytes; unused when Len is 0
	Slot uint64           // the conduit's own word; for a reply it comes from Dispatch
}

// Result is the outcome of Reserve, and of a conduit's one-sided operations (see Putter).
// Having no room is an everyday result, not an error.
type Result uint8

const (
	// Reserved: the windows are set and Commit must follow. Only Reserve answers so.
	Reserved Result = iota
	// NoRoom: nothing was taken; poll and try again.
	NoRoom
	// Initiated: the operation is under way, and Done will be told. This and the others
	// below are results of one-sided operations only.
	Initiated
	// Completed: the operation is complete; neither LC nor Done is told.
	Completed
	// Declined: nothing was taken, and never will be for these arguments: messages do it.
	Declined
)

// String names the result.
func (r Result) String() string {
	switch r {
	case Reserved:
		return "Reserved"
	case NoRoom:
		return "NoRoom"
	case Initiated:
		return "Initiated"
	case Completed:
		return "Completed"
	case Declined:
		return "Declined"
	}
	return fmt.Sprintf("Result(%d)", uint8(r))
}

// Limits are the sizes a conduit supports, constant once attached.
type Limits struct {
	MaxMediumRequest int // payload bytes of a Medium request, at least 512
	MaxMediumReply   int // payload bytes of a Medium reply, at least 512
	MaxLongRequest   int // payload bytes of a Long request, at least 512
	MaxLongReply     int // payload bytes of a Long reply, at least 512
	// Ordered reports that messages of one direction (request or reply) between a pair
	// of ranks arrive in the order in which one context sent them. Clients may not rely
	// on it; the conformance suite checks a claim.
	Ordered bool
}

// Conduit is the contract a network implements: one value per rank and job.
//
// Concurrency: core never runs two Reserves of requests, nor two Polls, at once.
// Reserve for a reply is only called below Dispatch, hence below Poll. In Many mode
// Poll may run beside a request's Reserve and Commit, and several reserved requests may
// await their Commits, which come from any goroutine in any order.
type Conduit interface {
	// Attach connects the ranks of the group and returns this rank's segment: a.Segment
	// bytes outside the Go heap (or, under the race detector between goroutines, on
	// it), page aligned. Collective; may use a.Boot's collectives, the same number of
	// times on every rank. An error ends the job; what was made until then Attach itself
	// releases, Close is not called.
	Attach(a *Attachment) (segment []byte, err error)

	// Limits returns the sizes; called once, after Attach.
	Limits() Limits

	// Reserve finds room for op's message and sets op.Args and, if op.Len > 0, op.Data, or
	// answers NoRoom. For a reply (op.Hdr.Reply) it never answers NoRoom and never waits: a
	// conduit does not dispatch a request unless its reply has room. Until Commit the
	// message occupies its place; Reserve must not poll.
	Reserve(op *Op) Result

	// Commit sends what was reserved. After it returns, the windows belong to the
	// conduit. It must not poll or block.
	Commit(op *Op)

	// Poll delivers arrived messages by Endpoint.Dispatch, about budget at most, and returns
	// how many it delivered. What it finds besides that somebody may wait for, such as room,
	// counts likewise: after 0 a rank may sleep without another look. It never blocks.
	Poll(budget int) int

	// Sleeper returns the conduit's part in sleeping; nil under a model.
	Sleeper() Sleeper

	// Close releases everything. No call follows it. All ranks have passed the final
	// barrier, or the job has failed.
	Close() error
}

// Sleeper lets the one wait sleep until a conduit has something to do. The calls come
// from one goroutine at a time, in the order Arm, (sleep on FD), Disarm.
type Sleeper interface {
	// Arm announces that this rank is going to sleep and then looks once more. It
	// reports true if anything is there that could make a wait's condition true: a
	// message or returned room. From Arm to Disarm, such an event makes FD readable.
	Arm() (ready bool)
	// FD returns the descriptor to sleep on, or -1 if the conduit cannot wake a sleeper.
	FD() int
	// Disarm ends what Arm began and consumes the wake-up.
	Disarm()
}

// Reacher is an optional power of a live conduit: direct reach of peers' segments.
type Reacher interface {
	// Reach returns rank's segment as memory of this process, valid until Close, or nil if
	// it is out of reach. Stores to it become visible before a message that is committed
	// later. Any goroutine may call it, beside other methods.
	Reach(rank Rank) ([]byte, error)
}

// Footprinter is an optional power of a conduit: to know what memory it will need, so that
// a job which does not fit its host is refused before anything is made.
type Footprinter interface {
	// Footprint returns how many bytes of shared memory Attach makes, besides the segment,
	// for one rank of a group of n. It is called before Attach.
	Footprint(n int) int
}

// SegmentLimiter is an optional power of a conduit: to say how large a segment can be, where
// that is less than the host's memory.
type SegmentLimiter interface {
	// MaxSegment returns the bytes of the largest segment that one rank can have under these
	// settings, at least a page, and the same on every rank. It is called before Attach. An
	// error says what is wrong with a setting.
	MaxSegment(settings map[string]string) (int, error)
}

// Spinner is an optional power of a live conduit whose polls take long before they look, as a call of
// foreign code does.
type Spinner interface {
	// Spin is Poll for a rank that waits for a message: while it finds nothing it may look again, for a few
	// microseconds at most. A wait calls it in place of spinPolls polls at full speed.
	Spin(budget int) int
}

// Idler is an optional power of a conduit with a model: to tell that a poll would be in vain,
// so that a rank that waits parks in its place, and its coroutine is switched once for a
// message instead of twice. It is looked at once, after Attach.
type Idler interface {
	// Idle reports whether a poll at the rank's present time would find nothing, unless
	// something that calls Proc.Arrive happens before, and what the poll would charge, which
	// is more than zero. Polls of such a conduit look right after Proc.Sync and charge for the
	// look afterwards. It must not wait.
	Idle() (cost vtime.Time, idle bool)
}

// LossDetector is an optional power of a conduit with a model whose hardware notices the loss
// of a node by itself.
type LossDetector interface {
	// Lost says that this rank's node is lost from now on; Config.Losses wants it so. Its
	// coroutine does not run again. An event calls it, on the lost rank's end, so it must
	// not wait. The model stops what the node does, and its peers notice in the way of their
	// hardware: one of them ends the job by Endpoint.Fail, with an ExitError of status 137.
	// If none has done so LossBound later, core ends the job.
	Lost()
}

// LossBound is the virtual time within which a LossDetector must have ended the job.
const LossBound = vtime.Second

// Attachment is what core hands to Conduit.Attach.
type Attachment struct {
	Boot     Bootstrap         // the job's collectives
	Group    []Rank            // the ranks to connect, ascending, the caller's included
	Segment  int               // bytes of this rank's segment, a multiple of the page size; 0: none
	Sizes    []int             // segment bytes of every rank, indexed by rank; 0 outside the group
	Endpoint *Endpoint         // where arrivals go
	Proc     *vtime.Proc       // the rank's process under the model; nil live
	Settings map[string]string // further conduit settings, e.g. "forced-scan": "off"
	Threads  Threads           // Many: see Conduit for what may run at once
}

// Driver makes a kind of conduit known by name, as database/sql drivers are.
type Driver struct {
	Name    string // e.g. "sci"
	Summary string // one line for listings

	// Profiles are the live variants of the conduit, the default first. A driver that names
	// neither profiles nor models has one live variant without a name.
	Profiles []string
	// Models are its variants in virtual time, the modelled machines, the default first;
	// none if it has no model. A name may also be in Profiles: the mode of the job decides.
	Models []string
	// Model, if not nil, says whether a name that is not in Models stands for a model too,
	// such as the path of a user's machine file: nil, or what is wrong with it. It is called
	// once per job, before the ranks start; New reads the machine again.
	Model func(name string) error
	// FileSetting, if not nil, says whether the value of a setting is the path of a file. A
	// relative one begins where the job was started, wherever its ranks then are.
	FileSetting func(key, value string) bool

	// Variants, if not nil, returns what Profiles and Models are to be, for a conduit of which
	// several packages are variants. It is called when the driver is looked up.
	Variants func() (profiles, models []string)

	// Check returns nil if the conduit can carry the job of boot; nil: it always can. When it
	// is only listed boot is nil, and what counts is whether a live profile can be used here.
	Check func(boot Bootstrap) error
	// New makes a rank's end. profile has been checked: under a model (Attachment.Proc is
	// not nil) it is one of Models or accepted by Model, live one of Profiles; it is "" only
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

var drivers struct {
	sync.Mutex
	m map[string]Driver
}

// Register makes a conduit available under d.Name. It is meant for init functions and
// panics if the name is empty or taken.
func Register(d Driver) {
	drivers.Lock()
	defer drivers.Unlock()
	if d.Name == "" || d.New == nil {
		panic("core: Register needs a name and a constructor")
	}
	if _, dup := drivers.m[d.Name]; dup {
		panic("core: conduit " + d.Name + " registered twice")
	}
	if drivers.m == nil {
		drivers.m = make(map[string]Driver)
	}
	drivers.m[d.Name] = d
}

// Drivers returns the registered conduits in order of name.
func Drivers() []Driver {
	drivers.Lock()
	defer drivers.Unlock()
	var ds []Driver
	for _, d := range drivers.m {
		ds = append(ds, d.complete())
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
	drivers.Lock()
	d, ok := drivers.m[name]
	names := slices.Sorted(maps.Keys(drivers.m))
	drivers.Unlock()
	switch {
	case !ok && strings.Contains(name, "/"):
		return Driver{}, fmt.Errorf("core: %q is no conduit; a model is CONDUIT, CONDUIT/MODEL or CONDUIT/PATH, with a conduit of %v", name, names)
	case !ok:
		return Driver{}, fmt.Errorf("core: unknown conduit %q; known: %v", name, names)
	}
	return d.complete(), nil
}

// complete asks for the variants.
func (d Driver) complete() Driver {
	if d.Variants != nil {
		d.Profiles, d.Models = d.Variants()
	}
	return d
}

// CutModel cuts "sci/d339", as users name a model, into conduit and profile; the profile may
// be a path ("sci/./my.machine"), and is "" for the conduit's default. What lacks one of the
// two beside a slash ("sci/") is left whole, as a conduit that nobody finds.
func CutModel(model string) (conduit, profile string) {
	conduit, profile, cut := strings.Cut(model, "/")
	if cut && (conduit == "" || profile == "") {
		return model, ""
	}
	return conduit, profile
}
