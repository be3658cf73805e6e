// What the C and the Go side of collective calls share.

#ifndef GASNETI_COLL_H
#define GASNETI_COLL_H

#include "internal.h"
#include "include/gasnet_coll.h"

enum gasneti_coll_op { GASNETI_INIT, GASNETI_BROADCAST, GASNETI_SCATTER, GASNETI_GATHER, GASNETI_GATHER_ALL, GASNETI_EXCHANGE, GASNETI_REDUCE, GASNETI_SCAN };

// An image's call. Of its addresses those that are lists are said to be.
struct gasneti_coll_call {
	int op;
	uintptr_t team;
	int dst_list, src_list;
	uintptr_t dst, src; // not as pointers, which Go looks at: those that do not apply may be anything
	gasnet_image_t root;
	size_t size, count; // bytes of a block, or of an element, and elements
	size_t layout;      // not 0: block sizes and offsets of arrays that the library has no calls for
	gasnet_coll_fn_handle_t fn;
	int arg, flags;
};

// Calls a function of the program's that combines n elements: left becomes left op right.
void gasneti_coll_combine(gasnet_coll_reduce_fn_t fn, void *left, const void *right, size_t n, size_t size, int flags, int arg);

#endif
