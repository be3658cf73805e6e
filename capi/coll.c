// Collective calls: what their names in C say becomes a record.

#include "coll.h"
#include "_cgo_export.h"

int gasneti_coll_pending;

void gasneti_coll_progress(void) {
	if (!gasneti_thread.token.live && !gasneti_thread.restricted) {
		GASNETI_GO_VOID(aqCollProgress(gasneti_self()));
	}
}

void gasneti_coll_combine(gasnet_coll_reduce_fn_t fn, void *left, const void *right, size_t n, size_t size, int flags, int arg) {
	gasneti_thread.restricted |= GASNETI_COMPUTES;
	fn(left, n, left, n, right, size, flags, arg);
	gasneti_thread.restricted &= ~GASNETI_COMPUTES;
}

static gasnet_coll_handle_t begin(const char *name, int blocking, struct gasneti_coll_call *call) {
	gasneti_need_attached(name);
	return (gasnet_coll_handle_t)(uintptr_t)GASNETI_GO(aqColl(gasneti_self(), (char *)name, blocking, call));
}

void gasnet_coll_init(const gasnet_image_t images[], gasnet_image_t my_image, gasnet_coll_fn_entry_t fn_tbl[], size_t fn_count, int init_flags) {
	(void)init_flags;
	gasneti_need_attached("gasnet_coll_init");
	GASNETI_GO_VOID(aqCollInit(gasneti_self(), (gasnet_image_t *)images, my_image, fn_tbl, fn_count));
}

// The four names of a call: parameters of its forms with one address and with lists, and the fields of the record. The
// latter has the same names in all forms, so list says which addresses are lists.
#define NAMES(name, PARAMS, FIELDS)                                                                      \
	void gasnet_coll_##name PARAMS(void *) { begin("gasnet_coll_" #name, 1, &(struct gasneti_coll_call)FIELDS(0)); } \
	gasnet_coll_handle_t gasnet_coll_##name##_nb PARAMS(void *) { return begin("gasnet_coll_" #name "_nb", 0, &(struct gasneti_coll_call)FIELDS(0)); } \
	void gasnet_coll_##name##M PARAMS(void *const *) { begin("gasnet_coll_" #name "M", 1, &(struct gasneti_coll_call)FIELDS(1)); } \
	gasnet_coll_handle_t gasnet_coll_##name##M_nb PARAMS(void *const *) { return begin("gasnet_coll_" #name "M_nb", 0, &(struct gasneti_coll_call)FIELDS(1)); }

#define FROM_ROOT(dst_t) (gasnet_team_handle_t team, dst_t dst, gasnet_image_t root, void *src, size_t nbytes, int flags)
#define TO_ROOT(src_t) (gasnet_team_handle_t team, gasnet_image_t root, void *dst, src_t src, size_t nbytes, int flags)
#define TO_ALL(addr_t) (gasnet_team_handle_t team, addr_t dst, addr_t src, size_t nbytes, int flags)
#define REDUCTION(src_t)                                                                                            \
	(gasnet_team_handle_t team, gasnet_image_t root, void *dst, src_t src, size_t src_blksz, size_t src_offset, size_t elem_size, \
	 size_t elem_count, gasnet_coll_fn_handle_t fn, int arg, int flags)
#define SCAN(addr_t)                                                                                                \
	(gasnet_team_handle_t team, addr_t dst, size_t dst_blksz, size_t dst_offset, addr_t src, size_t src_blksz, size_t src_offset, \
	 size_t elem_size, size_t elem_count, gasnet_coll_fn_handle_t fn, int arg, int flags)

#define COMMON(o) .op = (o), .team = (uintptr_t)team, .dst = (uintptr_t)dst, .src = (uintptr_t)src, .flags = flags
#define BROADCAST_FIELDS(list) {COMMON(GASNETI_BROADCAST), .dst_list = list, .root = root, .size = nbytes}
#define SCATTER_FIELDS(list) {COMMON(GASNETI_SCATTER), .dst_list = list, .root = root, .size = nbytes}
#define GATHER_FIELDS(list) {COMMON(GASNETI_GATHER), .src_list = list, .root = root, .size = nbytes}
#define GATHER_ALL_FIELDS(list) {COMMON(GASNETI_GATHER_ALL), .dst_list = list, .src_list = list, .size = nbytes}
#define EXCHANGE_FIELDS(list) {COMMON(GASNETI_EXCHANGE), .dst_list = list, .src_list = list, .size = nbytes}
#define REDUCE_FIELDS(list)                                                                                              \
	{COMMON(GASNETI_REDUCE), .src_list = list, .root = root, .size = elem_size, .count = elem_count, .layout = src_blksz | src_offset, \
	 .fn = fn, .arg = arg}
#define SCAN_FIELDS(list)                                                                                                \
	{COMMON(GASNETI_SCAN), .dst_list = list, .src_list = list, .size = elem_size, .count = elem_count,                   \
	 .layout = dst_blksz | dst_offset | src_blksz | src_offset, .fn = fn, .arg = arg}

NAMES(broadcast, FROM_ROOT, BROADCAST_FIELDS)
NAMES(scatter, FROM_ROOT, SCATTER_FIELDS)
NAMES(gather, TO_ROOT, GATHER_FIELDS)
NAMES(gather_all, TO_ALL, GATHER_ALL_FIELDS)
NAMES(exchange, TO_ALL, EXCHANGE_FIELDS)
NAMES(reduce, REDUCTION, REDUCE_FIELDS)
NAMES(scan, SCAN, SCAN_FIELDS)

static int synchronise(const char *call, gasnet_coll_handle_t *handles, size_t n, int wait, int all) {
	gasneti_need_attached(call);
	if (handles == NULL && n > 0) {
		gasneti_misuse(call, "the array of handles is NULL");
	}
	return GASNETI_GO(aqCollSync(gasneti_self(), (char *)call, (uint64_t *)handles, n, wait, all));
}

void gasnet_coll_wait_sync(gasnet_coll_handle_t handle) { synchronise("gasnet_coll_wait_sync", &handle, 1, 1, 1); }
int gasnet_coll_try_sync(gasnet_coll_handle_t handle) { return synchronise("gasnet_coll_try_sync", &handle, 1, 0, 1); }
void gasnet_coll_wait_sync_all(gasnet_coll_handle_t *handles, size_t n) { synchronise("gasnet_coll_wait_sync_all", handles, n, 1, 1); }
int gasnet_coll_try_sync_all(gasnet_coll_handle_t *handles, size_t n) { return synchronise("gasnet_coll_try_sync_all", handles, n, 0, 1); }
void gasnet_coll_wait_sync_some(gasnet_coll_handle_t *handles, size_t n) { synchronise("gasnet_coll_wait_sync_some", handles, n, 1, 0); }
int gasnet_coll_try_sync_some(gasnet_coll_handle_t *handles, size_t n) { return synchronise("gasnet_coll_try_sync_some", handles, n, 0, 0); }

void gasnet_coll_barrier_notify(gasnet_team_handle_t team, int id, int flags) {
	gasneti_need_attached("gasnet_coll_barrier_notify");
	GASNETI_GO_VOID(aqTeamNotify(gasneti_self(), (uintptr_t)team, id, flags));
}

int gasnet_coll_barrier_wait(gasnet_team_handle_t team, int id, int flags) {
	gasneti_need_attached("gasnet_coll_barrier_wait");
	return GASNETI_GO(aqTeamWait(gasneti_self(), (uintptr_t)team, id, flags));
}

int gasnet_coll_barrier_try(gasnet_team_handle_t team, int id, int flags) {
	gasneti_need_attached("gasnet_coll_barrier_try");
	return GASNETI_GO(aqTeamTry(gasneti_self(), (uintptr_t)team, id, flags));
}

int gasnet_coll_barrier(gasnet_team_handle_t team, int id, int flags) {
	gasnet_coll_barrier_notify(team, id, flags);
	return gasnet_coll_barrier_wait(team, id, flags);
}

int gasnet_coll_barrier_result(gasnet_team_handle_t team, int *id) {
	gasneti_need_attached("gasnet_coll_barrier_result");
	int name;
	if (!GASNETI_GO(aqTeamResult((uintptr_t)team, &name))) {
		return 1;
	}
	if (id != NULL) {
		*id = name;
	}
	return 0;
}

gasnet_team_handle_t gasnet_coll_team_split(gasnet_team_handle_t parent, gasnet_node_t color, gasnet_node_t relrank, void *clientdata) {
	(void)clientdata; // scratch memory, which the library has
	gasneti_need_attached("gasnet_coll_team_split");
	return (gasnet_team_handle_t)(uintptr_t)GASNETI_GO(aqTeamSplit(gasneti_self(), (uintptr_t)parent, color, relrank));
}

gasnet_node_t gasnet_coll_team_size(gasnet_team_handle_t team) { return GASNETI_GO(aqTeamSize((uintptr_t)team)); }

gasnet_node_t gasnet_coll_team_rank2node(gasnet_team_handle_t team, int rank) {
	return GASNETI_GO(aqTeamNode((uintptr_t)team, rank));
}

gasnet_node_t gasnet_coll_team_node2rank(gasnet_team_handle_t team, gasnet_node_t node) {
	return GASNETI_GO(aqTeamRank((uintptr_t)team, node));
}
