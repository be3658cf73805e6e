//go:build !race

package clients_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core/coretest"
)

// exSources are clients of GASNet-EX's interface.
var exSources = []string{"ex_messages", "ex_transfers", "ex_teams", "ex_vis", "ex_bind"}

// TestEX has clients of GASNet-EX's interface.
func TestEX(t *testing.T) {
	for _, source := range exSources {
		t.Run(source, func(t *testing.T) { everywhere(t, source, "are right", 1, 2, 4) })
	}
}

// TestEXInC has the library send and take messages of GASNet-EX's interface without crossing into Go, before there are segments and
// after it, unless it is told to cross.
func TestEXInC(t *testing.T) {
	for setting, says := range map[string]string{"on": "fast", "off": "slow"} {
		t.Setenv("AQUEDUCT_C_FAST", setting)
		for _, mode := range []string{"seq", "par"} {
			out, status := job(t, 2, "sci", client{source: "ex_messages", mode: mode}.build(t), says)
			if status != 0 || strings.Count(out, "are right") != 2 {
				t.Errorf("%s, %s: status %d; want 0 and both ranks right:\n%s", mode, says, status, out)
			}
		}
	}
}

// TestEXWays has them compiled for debugging, with segments that other ranks do not reach, and with ranks of one host that talk through
// memory in a job over a network.
func TestEXWays(t *testing.T) {
	for _, source := range exSources {
		for _, variable := range []string{"AQUEDUCT_REACH=off", "AQUEDUCT_NEAR=on"} {
			t.Run(source+"/"+variable, func(t *testing.T) {
				name, value, _ := strings.Cut(variable, "=")
				t.Setenv(name, value)
				for _, conduit := range conduits {
					// The one takes from sci, the other gives to udp.
					if (conduit == "sci") != (name == "AQUEDUCT_REACH") && !coretest.InPart(t, t.Name()+conduit) {
						continue
					}
					out, status := job(t, 3, conduit, client{source: source, mode: "seq", flags: []string{"-DGASNET_DEBUG"}}.build(t))
					if status != 0 || strings.Count(out, "are right") != 3 {
						t.Errorf("%s: status %d; want 0 and all three ranks right:\n%s", conduit, status, out)
					}
				}
			})
		}
	}
}

// TestEXThreads has threads use GASNet-EX's interface at the same time.
func TestEXThreads(t *testing.T) {
	for c, conduit := range conduits {
		for i, n := range []int{2, 3, 1} {
			if i != c && !coretest.InPart(t, fmt.Sprint(t.Name(), conduit, n)) {
				continue
			}
			out, status := job(t, n, conduit, client{source: "ex_threads", mode: "par"}.build(t))
			if status != 0 || strings.Count(out, "are right") != n {
				t.Errorf("%s: status %d; want 0 and %d ranks right:\n%s", conduit, status, n, out)
			}
		}
	}
}

// TestEXAfterGASNet1 has gasnet_init and gasnet_attach start the job of a client of GASNet-EX's interface.
func TestEXAfterGASNet1(t *testing.T) {
	for _, conduit := range conduits {
		out, status := job(t, 2, conduit, client{source: "ex_transfers", mode: "seq"}.build(t), "gasnet1")
		if status != 0 || strings.Count(out, "are right") != 2 {
			t.Errorf("%s: status %d; want 0 and both ranks right:\n%s", conduit, status, out)
		}
	}
}

// TestEXMisuse has the library refuse what a client must not do, in words.
func TestEXMisuse(t *testing.T) {
	for what, says := range map[string]string{
		"":                "codes of rank 1 are right",
		"codes":           "index 128 is taken by \"message\"",
		"before init":     "gasnet_QueryGexObjects: called before gasnet_init",
		"put early":       "gex_RMA_PutBlocking: rank 1 has no segment yet",
		"long early":      "gex_AM_RequestLong: ",
		"rank":            "gex_AM_RequestShort: no rank 77 in a team of 2",
		"team":            "gex_AM_RequestShort: the team is GEX_TM_INVALID",
		"defer":           "gex_AM_RequestMedium: lc_opt is neither",
		"medium":          "gex_AM_RequestMedium: Medium payload of ",
		"handler":         "gex_Coll_BarrierNB: called from the handler of a short request",
		"token":           "gex_Token_Info: the token is not that of the handler that runs",
		"reply":           "gex_AM_ReplyShort: the token is not that of the handler that runs",
		"least":           "gex_AM_PrepareRequestMedium: least ",
		"prepared":        "gex_RMA_PutNBI: the thread has prepared a message; commit it first",
		"twice":           "gex_AM_PrepareRequestMedium: the thread has prepared a message; commit it first",
		"commit":          "gex_AM_CommitReplyMedium: the descriptor is not that of a message",
		"arguments":       "gex_AM_CommitRequestMedium: 0 arguments; the message was prepared for 1",
		"reduction":       "gex_Coll_ReduceToAllNB: elements of Int32 have 4 bytes; dt_sz is 8",
		"function":        "gex_Coll_ReduceToOneNB: user_op is NULL",
		"operator":        "gex_AM_RequestShort: called by an operator of a collective",
		"destroy":         "gex_TM_Destroy: the team of all ranks cannot be destroyed",
		"color":           "gex_TM_Split: the colour is negative",
		"outside":         "gex_RMA_PutBlocking: 8 bytes at ",
		"long outside":    "gex_AM_RequestLong: 8 bytes at ",
		"prepare outside": "gex_AM_PrepareRequestLong: 8 bytes at ",
		"null":            "gex_RMA_PutBlocking: the buffer is NULL",
		"group":           "gex_RMA_PutNB: lc_opt is neither",
		"bind":            "gex_EP_BindSegment: the endpoint has a segment already",
		"kind":            "gex_MK_Destroy: gex_MK_Create has made no such kind of memory",
		"lc":              "gex_RMA_PutNBI: lc_opt is none of",
		"value":           "gex_RMA_GetBlockingVal: a value of 9 bytes",
		"event":           "gex_Event_Wait: event 0x1234567 is void",
		"events":          "gex_Event_TestSome: the array of events is NULL",
		"region":          "gex_NBI_EndAccessRegion: no access region is open",
		"leaf":            "gex_Event_QueryLeaf: the leaf that an event may have",
		"operation":       "gex_AD_OpNB: on member 1: the domain was made for FAdd",
		"type":            "gex_AD_OpNB: the domain is for elements of another type",
		"alignment":       "gex_AD_OpNB: offset 4 of rank 1 is not a multiple of 8",
		"result":          "gex_AD_OpNB: the buffer is NULL",
		"vector":          "gex_VIS_VectorPutBlocking: ",
	} {
		for m, mode := range []string{"seq", "par"} {
			if !coretest.InTurn(t, what, m, 2) && what != "operator" { // who else may not communicate is the same in both
				continue
			}
			t.Run(what+"/"+mode, func(t *testing.T) {
				out, status := job(t, 2, "sci", client{source: "ex_misuse", mode: mode}.build(t), what)
				if (status == 0) != (what == "" || what == "codes") || !strings.Contains(out, says) || strings.Contains(out, "goroutine ") || what == "" && strings.Contains(out, "index 5") {
					t.Errorf("status %d; want a failure, and %q in:\n%s", status, says, out)
				}
			})
		}
	}
}
