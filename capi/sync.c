// Synchronisation of puts and gets.

#include "fast.h"
#include "_cgo_export.h"

#include <stdatomic.h>

_Static_assert(sizeof(gasnet_handle_t) == sizeof(uint64_t), "an event is a word");

void gasnet_wait_syncnb(gasnet_handle_t handle) {
	if (handle != GASNET_INVALID_HANDLE) {
		gasneti_need_attached("gasnet_wait_syncnb");
		GASNETI_GO_VOID(aqWait(gasneti_self(), (uintptr_t)handle));
	}
}

int gasnet_try_syncnb(gasnet_handle_t handle) {
	if (handle == GASNET_INVALID_HANDLE) {
		return GASNET_OK;
	}
	gasneti_need_attached("gasnet_try_syncnb");
	return GASNETI_GO(aqTry(gasneti_self(), (uintptr_t)handle));
}

// Reports whether there is anything to wait for, and sees to it that there is a list of handles if it is to have any.
static int pending(const char *call, const gasnet_handle_t *handles, size_t n) {
	gasneti_need_attached(call);
	if (handles == NULL && n > 0) {
		gasneti_misuse(call, "the array of handles is NULL");
	}
	for (size_t i = 0; i < n; i++) {
		if (handles[i] != GASNET_INVALID_HANDLE) {
			return 1;
		}
	}
	return 0;
}

void gasnet_wait_syncnb_all(gasnet_handle_t *handles, size_t n) {
	if (pending("gasnet_wait_syncnb_all", handles, n)) {
		GASNETI_GO_VOID(aqWaitAll(gasneti_self(), (uint64_t *)handles, n));
	}
}

int gasnet_try_syncnb_all(gasnet_handle_t *handles, size_t n) {
	return pending("gasnet_try_syncnb_all", handles, n) ? GASNETI_GO(aqTryAll(gasneti_self(), (uint64_t *)handles, n)) : GASNET_OK;
}

void gasnet_wait_syncnb_some(gasnet_handle_t *handles, size_t n) {
	if (pending("gasnet_wait_syncnb_some", handles, n)) {
		GASNETI_GO_VOID(aqWaitSome(gasneti_self(), (uint64_t *)handles, n));
	}
}

int gasnet_try_syncnb_some(gasnet_handle_t *handles, size_t n) {
	return pending("gasnet_try_syncnb_some", handles, n) ? GASNETI_GO(aqTrySome(gasneti_self(), (uint64_t *)handles, n)) : GASNET_OK;
}

static void wait_nbi(const char *call, int which) {
	gasneti_need_attached(call);
	int *implicit = gasneti_implicit();
	if ((*implicit & (which | GASNETI_REGION)) == 0) {
		return; // all were done in place
	}
	GASNETI_GO_VOID(aqWaitNBI(gasneti_self(), which));
	*implicit &= ~which;
}

static int try_nbi(const char *call, int which) {
	gasneti_need_attached(call);
	if ((*gasneti_implicit() & (which | GASNETI_REGION)) == 0 && gasneti_fast_poll()) {
		return GASNET_OK;
	}
	return GASNETI_GO(aqTryNBI(gasneti_self(), which));
}

void gasnet_wait_syncnbi_gets(void) { wait_nbi("gasnet_wait_syncnbi_gets", GASNETI_GETS); }
void gasnet_wait_syncnbi_puts(void) { wait_nbi("gasnet_wait_syncnbi_puts", GASNETI_PUTS); }
void gasnet_wait_syncnbi_all(void) { wait_nbi("gasnet_wait_syncnbi_all", GASNETI_GETS | GASNETI_PUTS); }
int gasnet_try_syncnbi_gets(void) { return try_nbi("gasnet_try_syncnbi_gets", GASNETI_GETS); }
int gasnet_try_syncnbi_puts(void) { return try_nbi("gasnet_try_syncnbi_puts", GASNETI_PUTS); }
int gasnet_try_syncnbi_all(void) { return try_nbi("gasnet_try_syncnbi_all", GASNETI_GETS | GASNETI_PUTS); }

void gasnet_begin_nbi_accessregion(void) {
	gasneti_need_attached("gasnet_begin_nbi_accessregion");
	GASNETI_GO_VOID(aqBeginRegion(gasneti_self()));
	*gasneti_implicit() |= GASNETI_REGION;
}

gasnet_handle_t gasnet_end_nbi_accessregion(void) {
	gasneti_need_attached("gasnet_end_nbi_accessregion");
	*gasneti_implicit() &= ~GASNETI_REGION;
	return (gasnet_handle_t)(uintptr_t)GASNETI_GO(aqEndRegion(gasneti_self()));
}
