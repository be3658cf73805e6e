// Puts and gets: what their names in C say becomes arguments.

#include "internal.h"
#include "_cgo_export.h"

#include <stdlib.h>

static gasnet_handle_t handle(uint64_t event) { return (gasnet_handle_t)(uintptr_t)event; }

static uint64_t put(int form, const char *call, gasnet_node_t node, void *dest, const void *src, size_t n, int lc) {
	gasneti_begin(call, form, GASNETI_PUTS);
	return GASNETI_GO(aqPut(gasneti_self(), form, (char *)call, node, dest, (void *)src, n, lc));
}

static uint64_t get(int form, const char *call, void *dest, gasnet_node_t node, const void *src, size_t n) {
	gasneti_begin(call, form, GASNETI_GETS);
	return GASNETI_GO(aqGet(gasneti_self(), form, (char *)call, dest, node, (void *)src, n));
}

static uint64_t set(int form, const char *call, gasnet_node_t node, void *dest, int val, size_t n) {
	gasneti_begin(call, form, GASNETI_PUTS);
	return GASNETI_GO(aqMemset(gasneti_self(), form, (char *)call, node, dest, val, n));
}

static uint64_t put_val(int form, const char *call, gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t n) {
	gasneti_begin(call, form, GASNETI_PUTS);
	return GASNETI_GO(aqPutValue(gasneti_self(), form, (char *)call, node, dest, value, n));
}

void gasnet_put(gasnet_node_t node, void *dest, const void *src, size_t nbytes) {
	put(GASNETI_BLOCKING, "gasnet_put", node, dest, src, nbytes, GASNETI_LC_DEFER);
}

void gasnet_get(void *dest, gasnet_node_t node, const void *src, size_t nbytes) {
	get(GASNETI_BLOCKING, "gasnet_get", dest, node, src, nbytes);
}

void gasnet_memset(gasnet_node_t node, void *dest, int val, size_t nbytes) {
	set(GASNETI_BLOCKING, "gasnet_memset", node, dest, val, nbytes);
}

void gasnet_put_val(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t nbytes) {
	put_val(GASNETI_BLOCKING, "gasnet_put_val", node, dest, value, nbytes);
}

gasnet_register_value_t gasnet_get_val(gasnet_node_t node, const void *src, size_t nbytes) {
	gasneti_need_attached("gasnet_get_val");
	return GASNETI_GO(aqGetValue(gasneti_self(), "gasnet_get_val", node, (void *)src, nbytes));
}

gasnet_handle_t gasnet_put_nb(gasnet_node_t node, void *dest, const void *src, size_t nbytes) {
	return handle(put(GASNETI_NB, "gasnet_put_nb", node, dest, src, nbytes, GASNETI_LC_NOW));
}

gasnet_handle_t gasnet_put_nb_bulk(gasnet_node_t node, void *dest, const void *src, size_t nbytes) {
	return handle(put(GASNETI_NB, "gasnet_put_nb_bulk", node, dest, src, nbytes, GASNETI_LC_DEFER));
}

gasnet_handle_t gasnet_get_nb(void *dest, gasnet_node_t node, const void *src, size_t nbytes) {
	return handle(get(GASNETI_NB, "gasnet_get_nb", dest, node, src, nbytes));
}

gasnet_handle_t gasnet_memset_nb(gasnet_node_t node, void *dest, int val, size_t nbytes) {
	return handle(set(GASNETI_NB, "gasnet_memset_nb", node, dest, val, nbytes));
}

gasnet_handle_t gasnet_put_nb_val(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t nbytes) {
	return handle(put_val(GASNETI_NB, "gasnet_put_nb_val", node, dest, value, nbytes));
}

void gasnet_put_nbi(gasnet_node_t node, void *dest, const void *src, size_t nbytes) {
	put(GASNETI_NBI, "gasnet_put_nbi", node, dest, src, nbytes, GASNETI_LC_NOW);
}

void gasnet_put_nbi_bulk(gasnet_node_t node, void *dest, const void *src, size_t nbytes) {
	put(GASNETI_NBI, "gasnet_put_nbi_bulk", node, dest, src, nbytes, GASNETI_LC_DEFER);
}

void gasnet_get_nbi(void *dest, gasnet_node_t node, const void *src, size_t nbytes) {
	get(GASNETI_NBI, "gasnet_get_nbi", dest, node, src, nbytes);
}

void gasnet_memset_nbi(gasnet_node_t node, void *dest, int val, size_t nbytes) {
	set(GASNETI_NBI, "gasnet_memset_nbi", node, dest, val, nbytes);
}

void gasnet_put_nbi_val(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t nbytes) {
	put_val(GASNETI_NBI, "gasnet_put_nbi_val", node, dest, value, nbytes);
}

// A split-phase value get is a get to a word of its own, whose other bytes are 0. Both architectures that the library is
// built for are little-endian.
struct gasneti_valget {
	uint64_t value;
	gasnet_handle_t handle;
};

gasnet_valget_handle_t gasnet_get_nb_val(gasnet_node_t node, const void *src, size_t nbytes) {
	if (nbytes == 0 || nbytes > sizeof(uint64_t)) {
		gasneti_misuse("gasnet_get_nb_val", "a value has 1 to 8 bytes");
	}
	gasnet_valget_handle_t v = malloc(sizeof *v);
	if (v == NULL) {
		gasneti_misuse("gasnet_get_nb_val", "out of memory");
	}
	v->value = 0;
	v->handle = handle(get(GASNETI_NB, "gasnet_get_nb_val", &v->value, node, src, nbytes));
	return v;
}

gasnet_register_value_t gasnet_wait_syncnb_valget(gasnet_valget_handle_t handle) {
	gasnet_wait_syncnb(handle->handle);
	gasnet_register_value_t value = handle->value;
	free(handle);
	return value;
}
