package sisci

import "fmt"

// Errno is an error of the SISCI API with its published number (Dolphin's sisci_error.h,
// the generation of the D33x driver). The errors that this package returns wrap one and
// say which operation failed on what; test them with errors.Is.
type Errno uint32

// The errors. A call's comment names the ones that are particular to it.
const (
	ErrBusy                 Errno = 0x40000900 // resources or users are left
	ErrFlagNotImplemented   Errno = 0x40000901
	ErrIllegalFlag          Errno = 0x40000902 // a flag that the call does not have
	ErrNoSpace              Errno = 0x40000904 // node memory or a table is full
	ErrAPINoSpace           Errno = 0x40000905
	ErrHWNoSpace            Errno = 0x40000906
	ErrNotImplemented       Errno = 0x40000907
	ErrIllegalAdapterno     Errno = 0x40000908
	ErrNoSuchAdapterno      Errno = 0x40000909
	ErrTimeout              Errno = 0x4000090A
	ErrOutOfRange           Errno = 0x4000090B // offset and size leave the segment or map
	ErrNoSuchSegment        Errno = 0x4000090C
	ErrIllegalNodeid        Errno = 0x4000090D
	ErrConnectionRefused    Errno = 0x4000090E // the segment exists but is not available
	ErrSegmentNotConnected  Errno = 0x4000090F
	ErrSizeAlignment        Errno = 0x40000910
	ErrOffsetAlignment      Errno = 0x40000911
	ErrIllegalParameter     Errno = 0x40000912
	ErrMaxEntries           Errno = 0x40000913 // the DMA queue is full
	ErrSegmentNotPrepared   Errno = 0x40000914
	ErrIllegalAddress       Errno = 0x40000915
	ErrIllegalOperation     Errno = 0x40000916 // not in this state, or not of this kind
	ErrIllegalQuery         Errno = 0x40000917
	ErrSegmentidUsed        Errno = 0x40000918
	ErrSystem               Errno = 0x40000919 // the operating system refused, or shared state is damaged
	ErrCancelled            Errno = 0x4000091A // the handle was removed while it was waited on
	ErrNotConnected         Errno = 0x4000091B
	ErrNotAvailable         Errno = 0x4000091C
	ErrInconsistentVersions Errno = 0x4000091D // a node's memory has another layout
	ErrCondIntRaceProblem   Errno = 0x4000091E
	ErrOverflow             Errno = 0x4000091F
	ErrNotInitialized       Errno = 0x40000920 // the device is closed
	ErrAccess               Errno = 0x40000921
	ErrNoSuchNodeid         Errno = 0x40000A00
	ErrNodeNotResponding    Errno = 0x40000A02
	ErrNoRemoteLinkAccess   Errno = 0x40000A04 // the other node's link is down, or the node is lost
	ErrNoLinkAccess         Errno = 0x40000A05 // this node's link is down
	ErrTransferFailed       Errno = 0x40000A06

	// ErrNoSuchIntno is an alias, as in the published header.
	ErrNoSuchIntno = ErrNoSuchSegment
	// ErrIntnoUsed has a name but no number in the published header; this one is ours.
	ErrIntnoUsed Errno = 0x40000F00
)

var errnoText = map[Errno]string{
	ErrBusy:                 "busy",
	ErrFlagNotImplemented:   "flag not implemented",
	ErrIllegalFlag:          "illegal flag",
	ErrNoSpace:              "no space",
	ErrAPINoSpace:           "no space for API resources",
	ErrHWNoSpace:            "no space for hardware resources",
	ErrNotImplemented:       "not implemented",
	ErrIllegalAdapterno:     "illegal adapter number",
	ErrNoSuchAdapterno:      "no such adapter",
	ErrTimeout:              "timed out",
	ErrOutOfRange:           "out of range",
	ErrNoSuchSegment:        "no such segment",
	ErrIllegalNodeid:        "illegal node id",
	ErrConnectionRefused:    "connection refused",
	ErrSegmentNotConnected:  "segment not connected",
	ErrSizeAlignment:        "size not aligned",
	ErrOffsetAlignment:      "offset not aligned",
	ErrIllegalParameter:     "illegal parameter",
	ErrMaxEntries:           "too many entries",
	ErrSegmentNotPrepared:   "segment not prepared",
	ErrIllegalAddress:       "illegal address",
	ErrIllegalOperation:     "illegal operation",
	ErrIllegalQuery:         "illegal query",
	ErrSegmentidUsed:        "segment id in use",
	ErrSystem:               "system error",
	ErrCancelled:            "cancelled",
	ErrNotConnected:         "not connected",
	ErrNotAvailable:         "not available",
	ErrInconsistentVersions: "inconsistent versions",
	ErrCondIntRaceProblem:   "conditional interrupt race",
	ErrOverflow:             "overflow",
	ErrNotInitialized:       "not initialized",
	ErrAccess:               "access denied",
	ErrNoSuchNodeid:         "no such node",
	ErrNodeNotResponding:    "node not responding",
	ErrNoRemoteLinkAccess:   "no access to the remote link",
	ErrNoLinkAccess:         "no access to the link",
	ErrTransferFailed:       "transfer failed",
	ErrIntnoUsed:            "interrupt number in use",
}

// Error returns the error's name in words.
func (e Errno) Error() string {
	if s, ok := errnoText[e]; ok {
		return s
	}
	return fmt.Sprintf("error %#x", uint32(e))
}

// at says where the error came up.
func (e Errno) at(format string, args ...any) error {
	return fmt.Errorf("sisci: %s: %w", fmt.Sprintf(format, args...), e)
}
