// The barrier of all ranks.

#include "internal.h"
#include "_cgo_export.h"

void gasnet_barrier_notify(int id, int flags) {
	gasneti_need_attached("gasnet_barrier_notify");
	GASNETI_GO_VOID(aqNotify(gasneti_self(), id, flags));
}

int gasnet_barrier_wait(int id, int flags) {
	gasneti_need_attached("gasnet_barrier_wait");
	return GASNETI_GO(aqWaitBarrier(gasneti_self(), id, flags));
}

int gasnet_barrier_try(int id, int flags) {
	gasneti_need_attached("gasnet_barrier_try");
	return GASNETI_GO(aqTryBarrier(gasneti_self(), id, flags));
}

int gasnet_barrier(int id, int flags) {
	gasnet_barrier_notify(id, flags);
	return gasnet_barrier_wait(id, flags);
}

int gasnet_barrier_result(int *id) {
	gasneti_need_attached("gasnet_barrier_result");
	int name;
	if (!GASNETI_GO(aqBarrierResult(&name))) {
		return 1;
	}
	if (id != NULL) {
		*id = name;
	}
	return 0;
}
