package sisci

import (
	"errors"
	"strings"
	"testing"
)

// The numbers are those of the published header.
func TestErrnoNumbers(t *testing.T) {
	for want, errs := range map[Errno][]Errno{
		0x900: {ErrBusy, ErrFlagNotImplemented, ErrIllegalFlag},
		0x904: {ErrNoSpace, ErrAPINoSpace, ErrHWNoSpace, ErrNotImplemented, ErrIllegalAdapterno,
			ErrNoSuchAdapterno, ErrTimeout, ErrOutOfRange, ErrNoSuchSegment, ErrIllegalNodeid,
			ErrConnectionRefused, ErrSegmentNotConnected, ErrSizeAlignment, ErrOffsetAlignment,
			ErrIllegalParameter, ErrMaxEntries, ErrSegmentNotPrepared, ErrIllegalAddress,
			ErrIllegalOperation, ErrIllegalQuery, ErrSegmentidUsed, ErrSystem, ErrCancelled,
			ErrNotConnected, ErrNotAvailable, ErrInconsistentVersions, ErrCondIntRaceProblem,
			ErrOverflow, ErrNotInitialized, ErrAccess},
		0xA00: {ErrNoSuchNodeid},
		0xA02: {ErrNodeNotResponding},
		0xA04: {ErrNoRemoteLinkAccess, ErrNoLinkAccess, ErrTransferFailed},
	} {
		for i, e := range errs {
			if e != want+Errno(i)|0x40000000 {
				t.Errorf("%v is %#x, want %#x", e, uint32(e), uint32(want)+uint32(i)|0x40000000)
			}
		}
	}
	if ErrNoSuchIntno != ErrNoSuchSegment {
		t.Error("ErrNoSuchIntno is not an alias")
	}
}

func TestErrnoText(t *testing.T) {
	seen := map[string]Errno{}
	for e, text := range errnoText {
		if other, dup := seen[text]; dup || text == "" {
			t.Errorf("%#x and %#x are both %q", uint32(e), uint32(other), text)
		}
		seen[text] = e
	}
	if s := Errno(0x40000ABC).Error(); !strings.Contains(s, "0x40000abc") {
		t.Errorf("unknown error: %q", s)
	}
	err := ErrNoSuchSegment.at("connect to segment %#x of node %d", 0x30002, 3)
	if err.Error() != "sisci: connect to segment 0x30002 of node 3: no such segment" || !errors.Is(err, ErrNoSuchSegment) {
		t.Errorf("wrapped: %v", err)
	}
}

func TestNames(t *testing.T) {
	for _, tc := range []struct {
		got  interface{ String() string }
		want string
	}{
		{OK, "ok"}, {Retriable, "retriable"}, {NotRetriable, "not retriable"}, {Pending, "pending"}, {Status(9), "unknown status"},
		{DMAIdle, "idle"}, {DMAError, "error"}, {DMAState(9), "DMAState(9)"},
		{EventConnect, "connect"}, {EventLost, "lost"}, {EventReason(0), "EventReason(0)"}, {EventReason(6), "EventReason(6)"},
	} {
		if tc.got.String() != tc.want {
			t.Errorf("%q, want %q", tc.got, tc.want)
		}
	}
	// the published numbers
	if EventConnect != 1 || EventLost != 5 || Cancel != 1 || Continue != 2 || DMAIdle != 0 || DMAError != 5 || OK != 0 || Pending != 3 {
		t.Error("an enumeration has other numbers than the published ones")
	}
}
