// Puts and gets in place: to the segments that the caller's process reaches, a transfer is a copy, made here. What cannot be
// done so, and what is wrong, goes to the library. Private to it: programs include gasnet.h.

#ifndef GASNETI_REACH_H
#define GASNETI_REACH_H

// A segment that this process reaches: its address and size as its owner knows them, and where it lies here.
typedef struct {
	uintptr_t base, size; // size is 0 of what is out of reach
	char *here;
} gasneti_window_t;
extern gasneti_window_t *gasneti_windows;
extern gasnet_node_t gasneti_window_count;

// Returns where n bytes at an address of node's segment lie here, or NULL.
static GASNETI_INLINE char *gasneti_place(gasnet_node_t node, const void *addr, size_t n) {
	if (__builtin_expect(node < gasneti_window_count, 1)) {
		const gasneti_window_t *w = &gasneti_windows[node];
		const uintptr_t off = (uintptr_t)addr - w->base;
		if (__builtin_expect(off <= w->size && n <= w->size - off, 1)) {
			return w->here + off;
		}
	}
	return GASNETI_NULL;
}

// Copies; the sizes of values by one load and one store.
static GASNETI_INLINE void gasneti_copy(void *to, const void *from, size_t n) {
	switch (n) {
	case 8: __builtin_memcpy(to, from, 8); break;
	case 4: __builtin_memcpy(to, from, 4); break;
	case 2: __builtin_memcpy(to, from, 2); break;
	case 1: __builtin_memcpy(to, from, 1); break;
	default: __builtin_memmove(to, from, n);
	}
}

// The compiler moves no access across; what the processor may do is as with a transfer by the library.
#define GASNETI_IN_ORDER() __atomic_signal_fence(__ATOMIC_SEQ_CST)

static GASNETI_INLINE int gasneti_put_here(gasnet_node_t node, void *dest, const void *src, size_t n) {
	char *const to = gasneti_place(node, dest, n);
	if (__builtin_expect(to == GASNETI_NULL || src == GASNETI_NULL, 0)) {
		return 0;
	}
	GASNETI_IN_ORDER();
	gasneti_copy(to, src, n);
	GASNETI_IN_ORDER();
	return 1;
}

static GASNETI_INLINE int gasneti_get_here(void *dest, gasnet_node_t node, const void *src, size_t n) {
	const char *const from = gasneti_place(node, src, n);
	if (__builtin_expect(from == GASNETI_NULL || dest == GASNETI_NULL, 0)) {
		return 0;
	}
	GASNETI_IN_ORDER();
	gasneti_copy(dest, from, n);
	GASNETI_IN_ORDER();
	return 1;
}

static GASNETI_INLINE int gasneti_set_here(gasnet_node_t node, void *dest, int val, size_t n) {
	char *const to = gasneti_place(node, dest, n);
	if (__builtin_expect(to == GASNETI_NULL, 0)) {
		return 0;
	}
	GASNETI_IN_ORDER();
	__builtin_memset(to, val, n);
	GASNETI_IN_ORDER();
	return 1;
}

// The low bytes of a value come first: both architectures that the library is built for are little-endian.
static GASNETI_INLINE int gasneti_put_val_here(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t n) {
	return n - 1 < sizeof value && gasneti_put_here(node, dest, &value, n);
}

static GASNETI_INLINE void gasneti_put(gasnet_node_t node, void *dest, const void *src, size_t n) {
	if (!gasneti_put_here(node, dest, src, n)) {
		gasnet_put(node, dest, src, n);
	}
}

static GASNETI_INLINE void gasneti_get(void *dest, gasnet_node_t node, const void *src, size_t n) {
	if (!gasneti_get_here(dest, node, src, n)) {
		gasnet_get(dest, node, src, n);
	}
}

static GASNETI_INLINE void gasneti_memset(gasnet_node_t node, void *dest, int val, size_t n) {
	if (!gasneti_set_here(node, dest, val, n)) {
		gasnet_memset(node, dest, val, n);
	}
}

static GASNETI_INLINE void gasneti_put_val(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t n) {
	if (!gasneti_put_val_here(node, dest, value, n)) {
		gasnet_put_val(node, dest, value, n);
	}
}

static GASNETI_INLINE gasnet_register_value_t gasneti_get_val(gasnet_node_t node, const void *src, size_t n) {
	gasnet_register_value_t value = 0;
	if (n - 1 < sizeof value && gasneti_get_here(&value, node, src, n)) {
		return value;
	}
	return gasnet_get_val(node, src, n);
}

GASNETI_WARN_UNUSED static GASNETI_INLINE gasnet_handle_t gasneti_put_nb(gasnet_node_t node, void *dest, const void *src, size_t n) {
	return gasneti_put_here(node, dest, src, n) ? GASNET_INVALID_HANDLE : gasnet_put_nb(node, dest, src, n);
}

GASNETI_WARN_UNUSED static GASNETI_INLINE gasnet_handle_t gasneti_put_nb_bulk(gasnet_node_t node, void *dest, const void *src, size_t n) {
	return gasneti_put_here(node, dest, src, n) ? GASNET_INVALID_HANDLE : gasnet_put_nb_bulk(node, dest, src, n);
}

GASNETI_WARN_UNUSED static GASNETI_INLINE gasnet_handle_t gasneti_get_nb(void *dest, gasnet_node_t node, const void *src, size_t n) {
	return gasneti_get_here(dest, node, src, n) ? GASNET_INVALID_HANDLE : gasnet_get_nb(dest, node, src, n);
}

GASNETI_WARN_UNUSED static GASNETI_INLINE gasnet_handle_t gasneti_memset_nb(gasnet_node_t node, void *dest, int val, size_t n) {
	return gasneti_set_here(node, dest, val, n) ? GASNET_INVALID_HANDLE : gasnet_memset_nb(node, dest, val, n);
}

GASNETI_WARN_UNUSED static GASNETI_INLINE gasnet_handle_t gasneti_put_nb_val(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t n) {
	return gasneti_put_val_here(node, dest, value, n) ? GASNET_INVALID_HANDLE : gasnet_put_nb_val(node, dest, value, n);
}

static GASNETI_INLINE void gasneti_put_nbi(gasnet_node_t node, void *dest, const void *src, size_t n) {
	if (!gasneti_put_here(node, dest, src, n)) {
		gasnet_put_nbi(node, dest, src, n);
	}
}

static GASNETI_INLINE void gasneti_put_nbi_bulk(gasnet_node_t node, void *dest, const void *src, size_t n) {
	if (!gasneti_put_here(node, dest, src, n)) {
		gasnet_put_nbi_bulk(node, dest, src, n);
	}
}

static GASNETI_INLINE void gasneti_get_nbi(void *dest, gasnet_node_t node, const void *src, size_t n) {
	if (!gasneti_get_here(dest, node, src, n)) {
		gasnet_get_nbi(dest, node, src, n);
	}
}

static GASNETI_INLINE void gasneti_memset_nbi(gasnet_node_t node, void *dest, int val, size_t n) {
	if (!gasneti_set_here(node, dest, val, n)) {
		gasnet_memset_nbi(node, dest, val, n);
	}
}

static GASNETI_INLINE void gasneti_put_nbi_val(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t n) {
	if (!gasneti_put_val_here(node, dest, value, n)) {
		gasnet_put_nbi_val(node, dest, value, n);
	}
}

// The library's own functions are what programs get that take their addresses.
#ifndef GASNETI_LIBRARY
#define gasnet_put(node, dest, src, nbytes) gasneti_put(node, dest, src, nbytes)
#define gasnet_get(dest, node, src, nbytes) gasneti_get(dest, node, src, nbytes)
#define gasnet_memset(node, dest, val, nbytes) gasneti_memset(node, dest, val, nbytes)
#define gasnet_put_val(node, dest, value, nbytes) gasneti_put_val(node, dest, value, nbytes)
#define gasnet_get_val(node, src, nbytes) gasneti_get_val(node, src, nbytes)
#define gasnet_put_nb(node, dest, src, nbytes) gasneti_put_nb(node, dest, src, nbytes)
#define gasnet_put_nb_bulk(node, dest, src, nbytes) gasneti_put_nb_bulk(node, dest, src, nbytes)
#define gasnet_get_nb(dest, node, src, nbytes) gasneti_get_nb(dest, node, src, nbytes)
#define gasnet_memset_nb(node, dest, val, nbytes) gasneti_memset_nb(node, dest, val, nbytes)
#define gasnet_put_nb_val(node, dest, value, nbytes) gasneti_put_nb_val(node, dest, value, nbytes)
#define gasnet_put_nbi(node, dest, src, nbytes) gasneti_put_nbi(node, dest, src, nbytes)
#define gasnet_put_nbi_bulk(node, dest, src, nbytes) gasneti_put_nbi_bulk(node, dest, src, nbytes)
#define gasnet_get_nbi(dest, node, src, nbytes) gasneti_get_nbi(dest, node, src, nbytes)
#define gasnet_memset_nbi(node, dest, val, nbytes) gasneti_memset_nbi(node, dest, val, nbytes)
#define gasnet_put_nbi_val(node, dest, value, nbytes) gasneti_put_nbi_val(node, dest, value, nbytes)
#endif

#endif
