// The interface of GASNet-1, after "GASNet Specification" 1.8, for programs in C99 or later and C++11 or later. docs/c.md
// says how programs are built and started, and what is particular to this library.

#ifndef GASNET_H
#define GASNET_H

#include "gasneti/base.h"
#include "gasnetex.h"
#include "gasneti/names.h"

GASNETI_BEGIN_C

typedef struct {
	gasnet_handler_t index; // 128 to 255, or 0 for any, which is then written here
	gasneti_fn_t fnptr;
} gasnet_handlerentry_t;

typedef struct {
	void *addr; // in the address space of the segment's rank
	uintptr_t size;
} gasnet_seginfo_t;

typedef struct {
	gasnet_node_t host;
	gasnet_node_t supernode; // ranks with the same number reach each other's segments by loads and stores
	uintptr_t offset;        // in the caller's supernode: what to add to an address of the rank's segment
} gasnet_nodeinfo_t;

// Joining a job and leaving it.
#ifndef GASNETI_LIBRARY
#define gasnet_init(argc, argv) GASNETI_INIT(GASNETI_CHECKED, argc, argv)
#endif
extern int gasnet_attach(gasnet_handlerentry_t *table, int numentries, uintptr_t segsize, uintptr_t minheapoffset);
extern gasnet_node_t gasnet_mynode(void);
extern gasnet_node_t gasnet_nodes(void);
extern int gasnet_getSegmentInfo(gasnet_seginfo_t *table, int numentries);
extern int gasnet_getNodeInfo(gasnet_nodeinfo_t *table, int numentries);

// Active messages.
extern size_t gasnet_AMMaxArgs(void);
extern size_t gasnet_AMMaxMedium(void);
extern size_t gasnet_AMMaxLongRequest(void);
extern size_t gasnet_AMMaxLongReply(void);
extern int gasnet_AMGetMsgSource(gasnet_token_t token, gasnet_node_t *srcindex);

#include "gasneti/am.h"

// Puts and gets. The forms without bulk may assume that addresses are aligned, and let the source of a put be
// overwritten when they return.
extern void gasnet_put(gasnet_node_t node, void *dest, const void *src, size_t nbytes);
extern void gasnet_get(void *dest, gasnet_node_t node, const void *src, size_t nbytes);
#define gasnet_put_bulk(node, dest, src, nbytes) gasnet_put(node, dest, src, nbytes)
#define gasnet_get_bulk(dest, node, src, nbytes) gasnet_get(dest, node, src, nbytes)
extern void gasnet_memset(gasnet_node_t node, void *dest, int val, size_t nbytes);
extern void gasnet_put_val(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t nbytes);
extern gasnet_register_value_t gasnet_get_val(gasnet_node_t node, const void *src, size_t nbytes);

// With a handle, which is synchronised once, by any thread.
GASNETI_WARN_UNUSED extern gasnet_handle_t gasnet_put_nb(gasnet_node_t node, void *dest, const void *src, size_t nbytes);
GASNETI_WARN_UNUSED extern gasnet_handle_t gasnet_put_nb_bulk(gasnet_node_t node, void *dest, const void *src, size_t nbytes);
GASNETI_WARN_UNUSED extern gasnet_handle_t gasnet_get_nb(void *dest, gasnet_node_t node, const void *src, size_t nbytes);
#define gasnet_get_nb_bulk(dest, node, src, nbytes) gasnet_get_nb(dest, node, src, nbytes)
GASNETI_WARN_UNUSED extern gasnet_handle_t gasnet_memset_nb(gasnet_node_t node, void *dest, int val, size_t nbytes);
GASNETI_WARN_UNUSED extern gasnet_handle_t gasnet_put_nb_val(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t nbytes);
extern void gasnet_wait_syncnb(gasnet_handle_t handle);
extern int gasnet_try_syncnb(gasnet_handle_t handle);
extern void gasnet_wait_syncnb_all(gasnet_handle_t *handles, size_t numhandles);
extern int gasnet_try_syncnb_all(gasnet_handle_t *handles, size_t numhandles);
extern void gasnet_wait_syncnb_some(gasnet_handle_t *handles, size_t numhandles);
extern int gasnet_try_syncnb_some(gasnet_handle_t *handles, size_t numhandles);

typedef struct gasneti_valget *gasnet_valget_handle_t;
GASNETI_WARN_UNUSED extern gasnet_valget_handle_t gasnet_get_nb_val(gasnet_node_t node, const void *src, size_t nbytes);
extern gasnet_register_value_t gasnet_wait_syncnb_valget(gasnet_valget_handle_t handle);

// Implicit ones, of the calling thread.
extern void gasnet_put_nbi(gasnet_node_t node, void *dest, const void *src, size_t nbytes);
extern void gasnet_put_nbi_bulk(gasnet_node_t node, void *dest, const void *src, size_t nbytes);
extern void gasnet_get_nbi(void *dest, gasnet_node_t node, const void *src, size_t nbytes);
#define gasnet_get_nbi_bulk(dest, node, src, nbytes) gasnet_get_nbi(dest, node, src, nbytes)
extern void gasnet_memset_nbi(gasnet_node_t node, void *dest, int val, size_t nbytes);
extern void gasnet_put_nbi_val(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t nbytes);
extern void gasnet_wait_syncnbi_gets(void);
extern void gasnet_wait_syncnbi_puts(void);
extern void gasnet_wait_syncnbi_all(void);
extern int gasnet_try_syncnbi_gets(void);
extern int gasnet_try_syncnbi_puts(void);
extern int gasnet_try_syncnbi_all(void);
extern void gasnet_begin_nbi_accessregion(void);
GASNETI_WARN_UNUSED extern gasnet_handle_t gasnet_end_nbi_accessregion(void);

#include "gasneti/reach.h"

// Barriers.
#define GASNET_BARRIERFLAG_ANONYMOUS 1
#define GASNET_BARRIERFLAG_MISMATCH 2
#define GASNET_BARRIERFLAG_IMAGES 4
#define GASNET_BARRIERFLAG_UNNAMED 9
extern void gasnet_barrier_notify(int id, int flags);
extern int gasnet_barrier_wait(int id, int flags);
extern int gasnet_barrier_try(int id, int flags);
extern int gasnet_barrier(int id, int flags);
extern int gasnet_barrier_result(int *id);

GASNETI_END_C

#endif
