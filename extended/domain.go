package extended

import (
	"encoding/binary"
	"math/bits"

	"github.com/aqueduct-go/aqueduct/core"
)

// Domain is where remote atomics happen (gex_AD_t): elements of one type in the segments of
// a team's members, and a set of operations on them. An operation is atomic with respect to
// the other operations of its domain, by any member and goroutine, and nothing else: before
// a location is accessed in another way, or through another domain, the operations on it
// must be complete and a barrier passed.
//
// Operations name members by their ranks in the team, as the roots of collectives do; puts
// and gets name ranks of the job. In the world the two are equal if the group is the job, and
// Team.RankOf and Team.Jobrank convert. The team is freed after its domains.
//
// If every member reaches all members' segments, all operations are done by the caller's
// processor in place. Otherwise, if the conduit of every member has all of the domain's
// operations on its type for all members' segments, the network carries all of them out; else
// all are messages that the owner's handler carries out. On the caller's own segment it is the
// same. The three never mix. What an operation orders besides its element is said by Order:
// a call that does not choose has Acquire and Release.
//
// Values travel as bits: an element's in the low bytes of a uint64, in this machine's byte
// order. Package users usually want the typed Atomic, which is a Domain.
type Domain struct {
	ep      *Endpoint
	team    *Team
	typ     Type
	shift   int // an element has 1<<shift bytes
	ops     Op
	freed   bool
	native  bool     // the network carries out the operations
	windows []window // by team rank, for operations in place; else nil
	direct  []window // the same for calls to go ahead unchecked; nil in debug mode, and where the job is watched
}

// NewDomain makes a domain for the operations ops, a set such as Get|FAdd, on elements of
// type t (gex_AD_Create). Fetching and plain forms are different operations. Collective over
// the team, a barrier: all members give the same type and operations; if they do not, or the
// type has not all of the operations, every member gets an error.
func NewDomain(c *Context, team *Team, t Type, ops Op) (*Domain, error) {
	d := new(Domain)
	if err := d.init(c, team, t, ops); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Domain) init(c *Context, team *Team, t Type, ops Op) error {
	const call = "NewDomain"
	if err := team.use(c, call); err != nil {
		return err
	}
	native, err := team.agreeOnDomain(c, t, ops)
	if err != nil {
		return err
	}
	switch {
	case !t.valid():
		return c.ep.misuse(call, "%v is no type of elements", t)
	case ops == 0:
		return c.ep.misuse(call, "a domain without operations; name some, such as %v", Get|FAdd)
	case ops&^t.Ops() != 0:
		return c.ep.misuse(call, "%v has no %v; it has %v", t, ops&^t.Ops(), t.Ops())
	}
	*d = Domain{ep: c.ep, team: team, typ: t, shift: bits.TrailingZeros(uint(t.Size())), ops: ops, native: native == ops && !team.reach}
	if team.reach {
		d.windows = make([]window, team.Size())
		for i, r := range team.Members() {
			d.windows[i] = windowOf(c.ep.reach.of(r), t.Size())
		}
		if !c.ep.debug && !c.ep.core.Watched() {
			d.direct = d.windows
		}
	}
	return nil
}

// agreeOnDomain returns the operations that the network can do for all members, or an error
// on all of them if they do not ask for the same.
func (t *Team) agreeOnDomain(c *Context, typ Type, ops Op) (native Op, err error) {
	mine := uint64(typ) | uint64(ops)<<32
	words := binary.NativeEndian.AppendUint64(nil, mine)
	words = binary.NativeEndian.AppendUint64(words, ^mine)
	words = binary.NativeEndian.AppendUint64(words, uint64(ops)&uint64(t.ep.core.NativeOps(core.ElementType(typ))))
	if err := t.AllReduce(c, words, words, Reduction{Type: Uint64, Op: And}); err != nil {
		return 0, err
	}
	if binary.NativeEndian.Uint64(words) == ^binary.NativeEndian.Uint64(words[8:]) {
		return Op(binary.NativeEndian.Uint64(words[16:])), nil
	}
	says := make([]byte, 8*t.Size())
	if err := t.AllGather(c, says, binary.LittleEndian.AppendUint64(nil, mine)); err != nil {
		return 0, err
	}
	for i := range t.Size() {
		if its := binary.LittleEndian.Uint64(says[8*i:]); its != mine {
			return 0, c.ep.misuse("NewDomain", "member %d (rank %d) of %v asks for %v with %v, this one for %v with %v",
				i, t.members.At(i), t, Type(uint32(its)), Op(its>>32), typ, ops)
		}
	}
	return 0, nil
}

// Free ends the domain: its operations are complete, and no member uses it afterwards.
// Collective over the team, a barrier.
func (d *Domain) Free(c *Context) error {
	const call = "Domain.Free"
	if err := d.use(c, call); err != nil {
		return err
	}
	if err := d.team.Barrier(c); err != nil {
		return err
	}
	d.freed, d.windows, d.direct = true, nil, nil
	return nil
}

// Team returns the team whose ranks the operations take. A handler may call it.
func (d *Domain) Team() *Team { return d.team }

// Type returns the type of the elements. A handler may call it.
func (d *Domain) Type() Type { return d.typ }

// Ops returns the operations that the domain was made for. A handler may call it.
func (d *Domain) Ops() Op { return d.ops }

// InPlace reports whether the operations are done in place: they are complete when the call
// that initiates them returns. A handler may call it.
func (d *Domain) InPlace() bool { return d.windows != nil }

// Offloaded reports whether the network carries out the operations: they complete though their
// owner does not poll. A handler may call it.
func (d *Domain) Offloaded() bool { return d.native }

// use checks that the domain can be used by the context.
func (d *Domain) use(c *Context, call string) error {
	switch {
	case d.team == nil:
		return c.ep.misuse(call, "the domain was not made by NewDomain")
	case d.freed:
		return c.ep.misuse(call, "the domain was freed")
	case d.team.freed:
		return c.ep.misuse(call, "the domain's team was freed; a team is kept as long as its domains")
	case d.ep != c.ep:
		return c.ep.misuse(call, "the domain belongs to another rank's endpoint")
	}
	return nil
}

// check returns the job rank of the member whose element at off an operation is for, or
// says what is wrong.
func (d *Domain) check(c *Context, rank int, off uint64, op Op, order Order) (core.Rank, error) {
	if err := d.use(c, "atomic"); err != nil {
		return 0, err
	}
	owner := d.team.Jobrank(rank)
	size := d.typ.Size()
	if err := c.Check("atomic"); err != nil {
		return 0, err
	}
	switch {
	case !op.single() || op&d.ops == 0:
		return 0, d.ep.misuse("atomic "+op.String(), "on member %d: the domain was made for %v", rank, d.ops)
	case !order.valid():
		return 0, d.ep.misuse("atomic "+op.String(), "%v is no order; there are Acquire, Release, both together, and Relaxed", order)
	case owner < 0:
		return 0, d.stranger(op, rank)
	case off%uint64(size) != 0:
		return 0, d.ep.misuse("atomic "+op.String(), "offset %d of rank %d is not a multiple of %d, the size of %v", off, owner, size, d.typ)
	case !d.ep.inside(owner, off, size):
		return 0, d.ep.outside("atomic "+op.String(), owner, off, size)
	}
	return owner, nil
}

// Outsider returns a number for rank r of the job, which is not in a Domain's team, to be given to the
// Domain in place of a team rank: the Domain's error then names r. The number is negative, as no team
// rank is; of rank -1 it is -1. A handler may call it.
func Outsider(r core.Rank) int { return -2 - int(r) }

// stranger makes the error of an operation on a rank that is no member.
func (d *Domain) stranger(op Op, rank int) error {
	call := "atomic " + op.String()
	switch {
	case rank < -1:
		return d.ep.misuse(call, "rank %d is not in %v, the team of the domain", -2-rank, d.team)
	case rank == -1:
		return d.ep.misuse(call, "a nil pointer, or member -1 of %v, the team of the domain", d.team)
	}
	return d.ep.misuse(call, "no member %d in %v, the team of the domain; it has members 0 to %d", rank, d.team, d.team.Size()-1)
}

// checkResult checks where the result of an operation shall go.
func (d *Domain) checkResult(op Op, dst []byte) error {
	if op.Fetching() && len(dst) != d.typ.Size() {
		return d.ep.misuse("atomic "+op.String(), "the place for the result has %d bytes, an element %d", len(dst), d.typ.Size())
	}
	return nil
}
