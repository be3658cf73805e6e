// Vector, indexed and strided transfers: what their names in C say becomes arguments. The far side is the one with a rank.

#include "internal.h"
#include "include/gasnet_vis.h"
#include "_cgo_export.h"

static gasnet_handle_t vector(int form, int get, const char *call, gasnet_node_t node, size_t nfar, gasnet_memvec_t const far[], size_t nnear, gasnet_memvec_t const near[]) {
	gasneti_begin(call, form, get ? GASNETI_GETS : GASNETI_PUTS);
	return (gasnet_handle_t)(uintptr_t)GASNETI_GO(aqVector(gasneti_self(), form, get, GASNETI_LC_DEFER, (char *)call, node, nfar, (void *)far, nnear, (void *)near));
}

static gasnet_handle_t indexed(int form, int get, const char *call, gasnet_node_t node, size_t nfar, void *const far[], size_t far_len, size_t nnear, void *const near[], size_t near_len) {
	gasneti_begin(call, form, get ? GASNETI_GETS : GASNETI_PUTS);
	return (gasnet_handle_t)(uintptr_t)GASNETI_GO(aqIndexed(gasneti_self(), form, get, GASNETI_LC_DEFER, (char *)call, node, nfar, (void *)far, far_len, nnear, (void *)near, near_len));
}

static gasnet_handle_t strided(int form, int get, const char *call, gasnet_node_t node, const void *far, const size_t far_strides[], const void *near, const size_t near_strides[], const size_t count[], size_t levels) {
	gasneti_begin(call, form, get ? GASNETI_GETS : GASNETI_PUTS);
	return (gasnet_handle_t)(uintptr_t)GASNETI_GO(aqStrided(gasneti_self(), form, get, (char *)call, node, (void *)far, (size_t *)far_strides, (void *)near, (size_t *)near_strides, (size_t *)count, levels));
}

// The six names of a form: result, how it is returned, the form, and what the names have behind the family's letter.
#define NAMES(result, give, form, suffix)                                                                                          \
	result gasnet_putv##suffix(gasnet_node_t node, size_t ndst, gasnet_memvec_t const dst[], size_t nsrc, gasnet_memvec_t const src[]) { \
		give vector(form, 0, "gasnet_putv" #suffix, node, ndst, dst, nsrc, src);                                                   \
	}                                                                                                                              \
	result gasnet_getv##suffix(size_t ndst, gasnet_memvec_t const dst[], gasnet_node_t node, size_t nsrc, gasnet_memvec_t const src[]) { \
		give vector(form, 1, "gasnet_getv" #suffix, node, nsrc, src, ndst, dst);                                                   \
	}                                                                                                                              \
	result gasnet_puti##suffix(gasnet_node_t node, size_t ndst, void *const dst[], size_t dst_len, size_t nsrc, void *const src[], size_t src_len) { \
		give indexed(form, 0, "gasnet_puti" #suffix, node, ndst, dst, dst_len, nsrc, src, src_len);                                \
	}                                                                                                                              \
	result gasnet_geti##suffix(size_t ndst, void *const dst[], size_t dst_len, gasnet_node_t node, size_t nsrc, void *const src[], size_t src_len) { \
		give indexed(form, 1, "gasnet_geti" #suffix, node, nsrc, src, src_len, ndst, dst, dst_len);                                \
	}                                                                                                                              \
	result gasnet_puts##suffix(gasnet_node_t node, void *dst, const size_t dst_strides[], const void *src, const size_t src_strides[], const size_t count[], size_t levels) { \
		give strided(form, 0, "gasnet_puts" #suffix, node, dst, dst_strides, src, src_strides, count, levels);                     \
	}                                                                                                                              \
	result gasnet_gets##suffix(void *dst, const size_t dst_strides[], gasnet_node_t node, const void *src, const size_t src_strides[], const size_t count[], size_t levels) { \
		give strided(form, 1, "gasnet_gets" #suffix, node, src, src_strides, dst, dst_strides, count, levels);                     \
	}

NAMES(void, (void), GASNETI_BLOCKING, _bulk)
NAMES(gasnet_handle_t, return, GASNETI_NB, _nb_bulk)
NAMES(void, (void), GASNETI_NBI, _nbi_bulk)
