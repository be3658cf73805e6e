// Events and implicit operations of GASNet-EX's interface.

#include "ex.h"
#include "_cgo_export.h"

// How a list of events is synchronised.
enum { ALL, SOME };

int gex_Event_Test(gex_Event_t event) {
	if (event == GEX_EVENT_INVALID) {
		return GASNET_OK;
	}
	gasneti_need_attached("gex_Event_Test");
	return GASNETI_GO(aqExTest(gasneti_self(), (uintptr_t)event));
}

void gex_Event_Wait(gex_Event_t event) {
	if (event != GEX_EVENT_INVALID) {
		gasneti_need_attached("gex_Event_Wait");
		GASNETI_GO_VOID(aqExWait(gasneti_self(), (uintptr_t)event));
	}
}

// Sees to it that there is a list of events, if it is to have any.
static void need_events(const char *call, const gex_Event_t *events, size_t n) {
	gasneti_need_attached(call);
	if (events == NULL && n > 0) {
		gasneti_misuse(call, "the array of events is NULL");
	}
}

int gex_Event_TestSome(gex_Event_t *events, size_t numevents, gex_Flags_t flags) {
	(void)flags;
	need_events("gex_Event_TestSome", events, numevents);
	return GASNETI_GO(aqExTestList(gasneti_self(), (uint64_t *)events, numevents, SOME));
}

void gex_Event_WaitSome(gex_Event_t *events, size_t numevents, gex_Flags_t flags) {
	(void)flags;
	need_events("gex_Event_WaitSome", events, numevents);
	GASNETI_GO_VOID(aqExWaitList(gasneti_self(), (uint64_t *)events, numevents, SOME));
}

int gex_Event_TestAll(gex_Event_t *events, size_t numevents, gex_Flags_t flags) {
	(void)flags;
	need_events("gex_Event_TestAll", events, numevents);
	return GASNETI_GO(aqExTestList(gasneti_self(), (uint64_t *)events, numevents, ALL));
}

void gex_Event_WaitAll(gex_Event_t *events, size_t numevents, gex_Flags_t flags) {
	(void)flags;
	need_events("gex_Event_WaitAll", events, numevents);
	GASNETI_GO_VOID(aqExWaitList(gasneti_self(), (uint64_t *)events, numevents, ALL));
}

gex_Event_t gex_Event_QueryLeaf(gex_Event_t root, gex_EC_t event_category) {
	const char *call = "gex_Event_QueryLeaf";
	if (event_category != GEX_EC_LC) {
		gasneti_misuse(call, "the leaf that an event may have is that of GEX_EC_LC");
	}
	if (root == GEX_EVENT_INVALID) {
		return GEX_EVENT_INVALID;
	}
	gasneti_need_attached(call);
	return gasneti_ex_event(GASNETI_GO(aqExLeaf((uintptr_t)root)));
}

int gex_NBI_Test(gex_EC_t event_mask, gex_Flags_t flags) {
	(void)flags;
	gasneti_need_attached("gex_NBI_Test");
	return GASNETI_GO(aqExTestNBI(gasneti_self(), event_mask));
}

void gex_NBI_Wait(gex_EC_t event_mask, gex_Flags_t flags) {
	(void)flags;
	gasneti_need_attached("gex_NBI_Wait");
	GASNETI_GO_VOID(aqExWaitNBI(gasneti_self(), event_mask));
}

void gex_NBI_BeginAccessRegion(gex_Flags_t flags) {
	(void)flags;
	gasneti_need_attached("gex_NBI_BeginAccessRegion");
	GASNETI_GO_VOID(aqExBeginRegion(gasneti_self()));
	*gasneti_implicit() |= GASNETI_REGION;
}

gex_Event_t gex_NBI_EndAccessRegion(gex_Flags_t flags) {
	(void)flags;
	gasneti_need_attached("gex_NBI_EndAccessRegion");
	*gasneti_implicit() &= ~GASNETI_REGION;
	return gasneti_ex_event(GASNETI_GO(aqExEndRegion(gasneti_self())));
}
