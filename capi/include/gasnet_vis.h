// Transfers of many pieces at once, under the names of GASNet's own extension of its interface ("Proposal for Extending the
// UPC Memory Copy Library Functions and Supporting Extensions to GASNet", 2.0): vector, indexed and strided. Everything about
// bulk puts and gets, handles and implicit operations holds for them too. Lists are read before a call returns.

#ifndef GASNET_VIS_H
#define GASNET_VIS_H

#include "gasnet.h"

GASNETI_BEGIN_C

typedef struct {
	void *addr;
	size_t len; // bytes; 0 is allowed
} gasnet_memvec_t;

// Vector: the bytes of one list of pieces go to those of the other, in their order. The lists may be cut differently, but
// have as many bytes in all.
extern void gasnet_putv_bulk(gasnet_node_t dstnode, size_t dstcount, gasnet_memvec_t const dstlist[], size_t srccount, gasnet_memvec_t const srclist[]);
extern void gasnet_getv_bulk(size_t dstcount, gasnet_memvec_t const dstlist[], gasnet_node_t srcnode, size_t srccount, gasnet_memvec_t const srclist[]);
GASNETI_WARN_UNUSED extern gasnet_handle_t gasnet_putv_nb_bulk(gasnet_node_t dstnode, size_t dstcount, gasnet_memvec_t const dstlist[], size_t srccount, gasnet_memvec_t const srclist[]);
GASNETI_WARN_UNUSED extern gasnet_handle_t gasnet_getv_nb_bulk(size_t dstcount, gasnet_memvec_t const dstlist[], gasnet_node_t srcnode, size_t srccount, gasnet_memvec_t const srclist[]);
extern void gasnet_putv_nbi_bulk(gasnet_node_t dstnode, size_t dstcount, gasnet_memvec_t const dstlist[], size_t srccount, gasnet_memvec_t const srclist[]);
extern void gasnet_getv_nbi_bulk(size_t dstcount, gasnet_memvec_t const dstlist[], gasnet_node_t srcnode, size_t srccount, gasnet_memvec_t const srclist[]);

// Indexed: the same for pieces of one length on each side.
extern void gasnet_puti_bulk(gasnet_node_t dstnode, size_t dstcount, void *const dstlist[], size_t dstlen, size_t srccount, void *const srclist[], size_t srclen);
extern void gasnet_geti_bulk(size_t dstcount, void *const dstlist[], size_t dstlen, gasnet_node_t srcnode, size_t srccount, void *const srclist[], size_t srclen);
GASNETI_WARN_UNUSED extern gasnet_handle_t gasnet_puti_nb_bulk(gasnet_node_t dstnode, size_t dstcount, void *const dstlist[], size_t dstlen, size_t srccount, void *const srclist[], size_t srclen);
GASNETI_WARN_UNUSED extern gasnet_handle_t gasnet_geti_nb_bulk(size_t dstcount, void *const dstlist[], size_t dstlen, gasnet_node_t srcnode, size_t srccount, void *const srclist[], size_t srclen);
extern void gasnet_puti_nbi_bulk(gasnet_node_t dstnode, size_t dstcount, void *const dstlist[], size_t dstlen, size_t srccount, void *const srclist[], size_t srclen);
extern void gasnet_geti_nbi_bulk(size_t dstcount, void *const dstlist[], size_t dstlen, gasnet_node_t srcnode, size_t srccount, void *const srclist[], size_t srclen);

// Strided: a section of an array on each side. count[0] is the contiguous bytes, count[1] to count[stridelevels] how often
// they come in each dimension, and strides[i] the bytes from one to the next in dimension i+1. A count of 0 moves nothing.
extern void gasnet_puts_bulk(gasnet_node_t dstnode, void *dstaddr, const size_t dststrides[], const void *srcaddr, const size_t srcstrides[], const size_t count[], size_t stridelevels);
extern void gasnet_gets_bulk(void *dstaddr, const size_t dststrides[], gasnet_node_t srcnode, const void *srcaddr, const size_t srcstrides[], const size_t count[], size_t stridelevels);
GASNETI_WARN_UNUSED extern gasnet_handle_t gasnet_puts_nb_bulk(gasnet_node_t dstnode, void *dstaddr, const size_t dststrides[], const void *srcaddr, const size_t srcstrides[], const size_t count[], size_t stridelevels);
GASNETI_WARN_UNUSED extern gasnet_handle_t gasnet_gets_nb_bulk(void *dstaddr, const size_t dststrides[], gasnet_node_t srcnode, const void *srcaddr, const size_t srcstrides[], const size_t count[], size_t stridelevels);
extern void gasnet_puts_nbi_bulk(gasnet_node_t dstnode, void *dstaddr, const size_t dststrides[], const void *srcaddr, const size_t srcstrides[], const size_t count[], size_t stridelevels);
extern void gasnet_gets_nbi_bulk(void *dstaddr, const size_t dststrides[], gasnet_node_t srcnode, const void *srcaddr, const size_t srcstrides[], const size_t count[], size_t stridelevels);

GASNETI_END_C

#endif
