// Collective calls and teams, under the names of the prototype in GASNet's own releases (its "Collectives Notes"). All
// images of a team make the same calls in the same order, with the same arguments where these are for all. A rank has one
// image; with GASNET_PAR it may have several, each a thread that calls gasnet_coll_init. No call is allowed in a handler.

#ifndef GASNET_COLL_H
#define GASNET_COLL_H

#include "gasnet.h"

GASNETI_BEGIN_C

typedef uint32_t gasnet_image_t;
typedef struct gasneti_team *gasnet_team_handle_t;
typedef struct gasneti_collective *gasnet_coll_handle_t;
#define GASNET_TEAM_ALL ((gasnet_team_handle_t)(uintptr_t)1)
#define GASNET_COLL_INVALID_HANDLE ((gasnet_coll_handle_t)GASNETI_NULL)

// Flags. Of the first six a call has one for its beginning and one for its end; what it lacks is that of ALLSYNC.
#define GASNET_COLL_IN_NOSYNC (1 << 0)   // data may move when any image has called
#define GASNET_COLL_IN_MYSYNC (1 << 1)   // an image's data may, when that image has called
#define GASNET_COLL_IN_ALLSYNC (1 << 2)  // none may before all have called
#define GASNET_COLL_OUT_NOSYNC (1 << 3)  // a call may complete when the image's own data has moved, as here, or before
#define GASNET_COLL_OUT_MYSYNC (1 << 4)  // when its own data has
#define GASNET_COLL_OUT_ALLSYNC (1 << 5) // when all data has
#define GASNET_COLL_SYNC_FLAG_MASK 0x3F
// Addresses are the same for all callers, and lists have one for every image; or they are the caller's own, and lists have
// one for every image of its rank.
#define GASNET_COLL_SINGLE (1 << 6)
#define GASNET_COLL_LOCAL (1 << 7)
// The handle of the next call without this flag stands for this one too, which returns GASNET_COLL_INVALID_HANDLE.
#define GASNET_COLL_AGGREGATE (1 << 8)
// Promises and hints that change nothing.
#define GASNET_COLL_FIXED_THREADS_PER_NODE (1 << 9)
#define GASNET_COLL_DST_IN_SEGMENT (1 << 10)
#define GASNET_COLL_SRC_IN_SEGMENT (1 << 11)
#define GASNET_COLL_REDUCE_OP_SUM (1 << 12)
#define GASNET_COLL_REDUCE_OP_MAX (1 << 13)
#define GASNET_COLL_REDUCE_OP_MIN (1 << 14)
#define GASNET_COLL_REDUCE_OP_CUSTOM (1 << 15)
#define GASNET_COLL_DISABLE_AUTOTUNE (1 << 18)
// What a scan gives an image: the elements up to its own, or those before it.
#define GASNET_COLL_INCLUSIVE_SCAN (1 << 16)
#define GASNET_COLL_EXCLUSIVE_SCAN (1 << 17)
// Of a rank's images one calls, for all of them.
#define GASNET_COLL_NO_IMAGES (1 << 19)

// A function that combines elements, named by its place in the table: results[i] = left[i] op right[i], where results may be
// left and both counts are equal. It must be associative. It may run whenever the rank polls, any number of times, on any
// rank, and must not call the library.
typedef gasnet_handlerarg_t gasnet_coll_fn_handle_t;
typedef void (*gasnet_coll_reduce_fn_t)(void *results, size_t result_count, const void *left_operands, size_t left_count, const void *right_operands, size_t elem_size, int flags, int arg);
typedef struct {
	gasnet_coll_reduce_fn_t fnptr;
	unsigned int flags;
} gasnet_coll_fn_entry_t;
#define GASNET_COLL_AMSAFE 1  // of a function: taken for granted
#define GASNET_COLL_NONCOMM 2 // of a function: elements are combined in order of images

// Called by every image before all else. images are the numbers of images of all ranks; NULL is one of each.
extern void gasnet_coll_init(const gasnet_image_t images[], gasnet_image_t my_image, gasnet_coll_fn_entry_t fn_tbl[], size_t fn_count, int init_flags);

// Handles are synchronised by the image that made the call, in any order.
extern void gasnet_coll_wait_sync(gasnet_coll_handle_t handle);
extern int gasnet_coll_try_sync(gasnet_coll_handle_t handle);
extern void gasnet_coll_wait_sync_all(gasnet_coll_handle_t *handles, size_t numhandles);
extern int gasnet_coll_try_sync_all(gasnet_coll_handle_t *handles, size_t numhandles);
extern void gasnet_coll_wait_sync_some(gasnet_coll_handle_t *handles, size_t numhandles);
extern int gasnet_coll_try_sync_some(gasnet_coll_handle_t *handles, size_t numhandles);

// Barriers of a team, of one caller for each rank.
extern void gasnet_coll_barrier_notify(gasnet_team_handle_t team, int id, int flags);
extern int gasnet_coll_barrier_wait(gasnet_team_handle_t team, int id, int flags);
extern int gasnet_coll_barrier_try(gasnet_team_handle_t team, int id, int flags);
extern int gasnet_coll_barrier(gasnet_team_handle_t team, int id, int flags);
extern int gasnet_coll_barrier_result(gasnet_team_handle_t team, int *id);

// Divides a team whose ranks have one image each: those with the same colour make a new one, in order of relrank.
extern gasnet_team_handle_t gasnet_coll_team_split(gasnet_team_handle_t parent, gasnet_node_t color, gasnet_node_t relrank, void *clientdata);
extern gasnet_node_t gasnet_coll_team_size(gasnet_team_handle_t team); // in ranks
extern gasnet_node_t gasnet_coll_team_rank2node(gasnet_team_handle_t team, int rank);
extern gasnet_node_t gasnet_coll_team_node2rank(gasnet_team_handle_t team, gasnet_node_t node);

// The calls: blocking and with a handle, with one address and with a list of them. nbytes is the size of one block. Buffers
// and lists follow the rules of bulk puts and gets.

// src of srcimage goes to dst of all.
extern void gasnet_coll_broadcast(gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage, void *src, size_t nbytes, int flags);
extern gasnet_coll_handle_t gasnet_coll_broadcast_nb(gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage, void *src, size_t nbytes, int flags);
extern void gasnet_coll_broadcastM(gasnet_team_handle_t team, void *const dstlist[], gasnet_image_t srcimage, void *src, size_t nbytes, int flags);
extern gasnet_coll_handle_t gasnet_coll_broadcastM_nb(gasnet_team_handle_t team, void *const dstlist[], gasnet_image_t srcimage, void *src, size_t nbytes, int flags);

// Block i of src of srcimage goes to dst of image i.
extern void gasnet_coll_scatter(gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage, void *src, size_t nbytes, int flags);
extern gasnet_coll_handle_t gasnet_coll_scatter_nb(gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage, void *src, size_t nbytes, int flags);
extern void gasnet_coll_scatterM(gasnet_team_handle_t team, void *const dstlist[], gasnet_image_t srcimage, void *src, size_t nbytes, int flags);
extern gasnet_coll_handle_t gasnet_coll_scatterM_nb(gasnet_team_handle_t team, void *const dstlist[], gasnet_image_t srcimage, void *src, size_t nbytes, int flags);

// src of image i goes to block i of dst of dstimage.
extern void gasnet_coll_gather(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *src, size_t nbytes, int flags);
extern gasnet_coll_handle_t gasnet_coll_gather_nb(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *src, size_t nbytes, int flags);
extern void gasnet_coll_gatherM(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *const srclist[], size_t nbytes, int flags);
extern gasnet_coll_handle_t gasnet_coll_gatherM_nb(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *const srclist[], size_t nbytes, int flags);

// src of image i goes to block i of dst of all.
extern void gasnet_coll_gather_all(gasnet_team_handle_t team, void *dst, void *src, size_t nbytes, int flags);
extern gasnet_coll_handle_t gasnet_coll_gather_all_nb(gasnet_team_handle_t team, void *dst, void *src, size_t nbytes, int flags);
extern void gasnet_coll_gather_allM(gasnet_team_handle_t team, void *const dstlist[], void *const srclist[], size_t nbytes, int flags);
extern gasnet_coll_handle_t gasnet_coll_gather_allM_nb(gasnet_team_handle_t team, void *const dstlist[], void *const srclist[], size_t nbytes, int flags);

// Block i of src of image j goes to block j of dst of image i.
extern void gasnet_coll_exchange(gasnet_team_handle_t team, void *dst, void *src, size_t nbytes, int flags);
extern gasnet_coll_handle_t gasnet_coll_exchange_nb(gasnet_team_handle_t team, void *dst, void *src, size_t nbytes, int flags);
extern void gasnet_coll_exchangeM(gasnet_team_handle_t team, void *const dstlist[], void *const srclist[], size_t nbytes, int flags);
extern gasnet_coll_handle_t gasnet_coll_exchangeM_nb(gasnet_team_handle_t team, void *const dstlist[], void *const srclist[], size_t nbytes, int flags);

// Element i of dst of dstimage is what elements i of src of all images have together, in order of images. All
// images have elem_count elements: block sizes and offsets, which describe other arrays, are 0.
extern void gasnet_coll_reduce(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *src, size_t src_blksz, size_t src_offset, size_t elem_size, size_t elem_count, gasnet_coll_fn_handle_t func, int func_arg, int flags);
extern gasnet_coll_handle_t gasnet_coll_reduce_nb(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *src, size_t src_blksz, size_t src_offset, size_t elem_size, size_t elem_count, gasnet_coll_fn_handle_t func, int func_arg, int flags);
extern void gasnet_coll_reduceM(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *const srclist[], size_t src_blksz, size_t src_offset, size_t elem_size, size_t elem_count, gasnet_coll_fn_handle_t func, int func_arg, int flags);
extern gasnet_coll_handle_t gasnet_coll_reduceM_nb(gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *const srclist[], size_t src_blksz, size_t src_offset, size_t elem_size, size_t elem_count, gasnet_coll_fn_handle_t func, int func_arg, int flags);

// Element i of dst of an image is what elements i of src of the images up to it, or before it, have together; before the
// first image there are none, and its dst stays as it is.
extern void gasnet_coll_scan(gasnet_team_handle_t team, void *dst, size_t dst_blksz, size_t dst_offset, void *src, size_t src_blksz, size_t src_offset, size_t elem_size, size_t elem_count, gasnet_coll_fn_handle_t func, int func_arg, int flags);
extern gasnet_coll_handle_t gasnet_coll_scan_nb(gasnet_team_handle_t team, void *dst, size_t dst_blksz, size_t dst_offset, void *src, size_t src_blksz, size_t src_offset, size_t elem_size, size_t elem_count, gasnet_coll_fn_handle_t func, int func_arg, int flags);
extern void gasnet_coll_scanM(gasnet_team_handle_t team, void *const dstlist[], size_t dst_blksz, size_t dst_offset, void *const srclist[], size_t src_blksz, size_t src_offset, size_t elem_size, size_t elem_count, gasnet_coll_fn_handle_t func, int func_arg, int flags);
extern gasnet_coll_handle_t gasnet_coll_scanM_nb(gasnet_team_handle_t team, void *const dstlist[], size_t dst_blksz, size_t dst_offset, void *const srclist[], size_t src_blksz, size_t src_offset, size_t elem_size, size_t elem_count, gasnet_coll_fn_handle_t func, int func_arg, int flags);

// Tuning is the library's own (docs/extended.md): these do nothing.
#define gasnet_coll_loadTuningState(filename, team) ((void)(filename), (void)(team))
#define gasnet_coll_dumpTuningState(filename, team) ((void)(filename), (void)(team))
#define gasnet_coll_dumpProfile(filename, team) ((void)(filename), (void)(team))

GASNETI_END_C

#endif
