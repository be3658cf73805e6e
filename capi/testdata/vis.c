// Vector, indexed and strided transfers of all forms between all ranks, against the same done byte by byte.

#include "check.h"
#include <gasnet_vis.h>

enum { AREA = 32 << 10, PIECES = 60, TRIALS = 40, DIMS = 20 };

static gasnet_seginfo_t *segments;
static gasnet_node_t me, ranks;
static unsigned seed;

static unsigned below(unsigned n) {
	seed = seed * 1103515245 + 12345;
	return (seed >> 12) % n;
}

// The area of this rank in a peer's segment, what is to be in it, and memory of its own, likewise.
static unsigned char *area(gasnet_node_t owner) { return (unsigned char *)segments[owner].addr + (size_t)me * AREA; }
static unsigned char far_model[AREA], near[AREA], near_model[AREA], seen[AREA];

static void scramble(gasnet_node_t peer) {
	for (int i = 0; i < AREA; i++) {
		far_model[i] = (unsigned char)below(256);
		near_model[i] = near[i] = (unsigned char)below(256);
	}
	gasnet_put_bulk(peer, area(peer), far_model, AREA);
}

static void compare(gasnet_node_t peer) {
	gasnet_get_bulk(seen, peer, area(peer), AREA);
	CHECK(memcmp(seen, far_model, AREA) == 0);
	CHECK(memcmp(near, near_model, AREA) == 0);
}

enum form { BLOCKING, NB, NBI, REGION, FORMS };

// Does a transfer in a form, and waits for it. The names differ in one letter of suffix only.
#define TRANSFER(form, name, list)                           \
	do {                                                     \
		gasnet_handle_t transfer_handle;                     \
		switch (form) {                                      \
		case BLOCKING: name##_bulk list; break;              \
		case NB:                                             \
			transfer_handle = name##_nb_bulk list;           \
			gasnet_wait_syncnb(transfer_handle);             \
			break;                                           \
		case NBI:                                            \
			name##_nbi_bulk list;                            \
			gasnet_wait_syncnbi_all();                       \
			break;                                           \
		default:                                             \
			gasnet_begin_nbi_accessregion();                 \
			name##_nbi_bulk list;                            \
			transfer_handle = gasnet_end_nbi_accessregion(); \
			while (gasnet_try_syncnb(transfer_handle) != GASNET_OK) { \
			}                                                \
		}                                                    \
	} while (0)

// Cuts total bytes into pieces with gaps between them, in any order; returns how many there are. Addresses are those of base.
static size_t cut(gasnet_memvec_t *list, unsigned char *base, size_t total) {
	size_t n = 0, gaps = AREA - total, at = 0;
	while (total > 0 || n == 0) {
		size_t gap = below((unsigned)(gaps / PIECES + 1)), len = total == 0 ? 0 : below((unsigned)total) / (1 + below(20)) + below(2);
		if (len > total || n == PIECES - 1) {
			len = total;
		}
		at += gap;
		list[n].addr = base + at;
		list[n].len = len;
		at += len;
		total -= len;
		n++;
	}
	for (size_t i = n; i > 1; i--) {
		size_t j = below((unsigned)i);
		gasnet_memvec_t t = list[i - 1];
		list[i - 1] = list[j];
		list[j] = t;
	}
	return n;
}

static size_t flatten(unsigned char *to, const gasnet_memvec_t *list, size_t n, const unsigned char *base, const unsigned char *model) {
	size_t at = 0;
	for (size_t i = 0; i < n; i++) {
		memcpy(to + at, model + ((unsigned char *)list[i].addr - base), list[i].len);
		at += list[i].len;
	}
	return at;
}

static void spread(const unsigned char *from, const gasnet_memvec_t *list, size_t n, const unsigned char *base, unsigned char *model) {
	for (size_t i = 0; i < n; i++) {
		memcpy(model + ((unsigned char *)list[i].addr - base), from, list[i].len);
		from += list[i].len;
	}
}

static void vector(gasnet_node_t peer, enum form form) {
	static unsigned char flat[AREA];
	gasnet_memvec_t theirs[PIECES], own[PIECES];
	size_t total = below(4) == 0 ? below(50) : below(AREA / 2);
	scramble(peer);
	size_t nt = cut(theirs, area(peer), total), no = cut(own, near, total);
	CHECK(flatten(flat, own, no, near, near_model) == total);
	spread(flat, theirs, nt, area(peer), far_model);
	TRANSFER(form, gasnet_putv, (peer, nt, theirs, no, own));
	compare(peer);
	scramble(peer);
	CHECK(flatten(flat, theirs, nt, area(peer), far_model) == total);
	spread(flat, own, no, near, near_model);
	TRANSFER(form, gasnet_getv, (no, own, peer, nt, theirs));
	compare(peer);
}

// Pieces of one length at places of a grid, each once.
static void places(void **list, gasnet_memvec_t *same, unsigned char *base, size_t n, size_t len) {
	size_t slots = AREA / len;
	unsigned char taken[AREA];
	memset(taken, 0, slots);
	for (size_t i = 0; i < n; i++) {
		size_t slot = below((unsigned)slots);
		while (taken[slot]) {
			slot = (slot + 1) % slots;
		}
		taken[slot] = 1;
		same[i].addr = list[i] = base + slot * len;
		same[i].len = len;
	}
}

static void indexed(gasnet_node_t peer, enum form form) {
	static unsigned char flat[AREA];
	void *theirs[PIECES], *own[PIECES];
	gasnet_memvec_t theirs_v[PIECES], own_v[PIECES];
	size_t len = 1 + below(200), n = 1 + below(9), times = 1 + below(6); // of their pieces, as long as times of ours
	scramble(peer);
	places(theirs, theirs_v, area(peer), n, len * times);
	places(own, own_v, near, n * times, len);
	flatten(flat, own_v, n * times, near, near_model);
	spread(flat, theirs_v, n, area(peer), far_model);
	TRANSFER(form, gasnet_puti, (peer, n, theirs, len * times, n * times, own, len));
	compare(peer);
	scramble(peer);
	flatten(flat, theirs_v, n, area(peer), far_model);
	spread(flat, own_v, n * times, near, near_model);
	TRANSFER(form, gasnet_geti, (n * times, own, len, peer, n, theirs, len * times));
	compare(peer);
}

// Copies a section byte by byte.
static void section(unsigned char *dst, const size_t *ds, const unsigned char *src, const size_t *ss, const size_t *count, size_t levels) {
	if (levels == 0) {
		memcpy(dst, src, count[0]);
		return;
	}
	for (size_t i = 0; i < count[levels]; i++) {
		section(dst + i * ds[levels - 1], ds, src + i * ss[levels - 1], ss, count, levels - 1);
	}
}

// Strides that nest, with some room between elements; the bytes that they reach.
static size_t nest(size_t *strides, const size_t *count, size_t levels) {
	size_t reach = count[0];
	for (size_t i = 0; i < levels; i++) {
		strides[i] = reach + (reach < 100 ? below(3) : 0);
		reach = strides[i] * (count[i + 1] == 0 ? 1 : count[i + 1]);
	}
	return reach;
}

static void strided(gasnet_node_t peer, enum form form, size_t levels) {
	size_t count[DIMS + 1], ts[DIMS], os[DIMS], reach_t, reach_o;
	do {
		count[0] = 1 + below(levels == 0 ? AREA / 2 : 30);
		for (size_t i = 1; i <= levels; i++) {
			count[i] = 1 + (i < 5 ? below(5) : below(8) == 0);
		}
		if (below(10) == 0) {
			count[below((unsigned)levels + 1)] = 0;
		}
		reach_t = nest(ts, count, levels);
		reach_o = nest(os, count, levels);
	} while (reach_t > AREA || reach_o > AREA);
	size_t at = below((unsigned)(AREA - reach_t + 1)), from = below((unsigned)(AREA - reach_o + 1));
	scramble(peer);
	section(far_model + at, ts, near_model + from, os, count, levels);
	TRANSFER(form, gasnet_puts, (peer, area(peer) + at, ts, near + from, os, count, levels));
	compare(peer);
	scramble(peer);
	section(near_model + from, os, far_model + at, ts, count, levels);
	TRANSFER(form, gasnet_gets, (near + from, os, peer, area(peer) + at, ts, count, levels));
	compare(peer);
}

// What moves nothing.
static void nothing(gasnet_node_t peer) {
	gasnet_memvec_t none = {area(peer), 0}, nowhere = {NULL, 0};
	size_t count[2] = {0, 3}, stride[1] = {8};
	scramble(peer);
	for (int form = 0; form < FORMS; form++) {
		TRANSFER(form, gasnet_putv, (peer, 0, NULL, 0, NULL));
		TRANSFER(form, gasnet_putv, (peer, 1, &none, 0, NULL));
		TRANSFER(form, gasnet_getv, (1, &nowhere, peer, 1, &none));
		TRANSFER(form, gasnet_puti, (peer, 0, NULL, 4, 0, NULL, 4));
		TRANSFER(form, gasnet_geti, (0, NULL, 0, peer, 0, NULL, 0));
		TRANSFER(form, gasnet_puts, (peer, area(peer), stride, near, stride, count, 1));
		TRANSFER(form, gasnet_gets, (near, NULL, peer, area(peer), NULL, count, 0));
	}
	compare(peer);
}

// Many transfers at once, of pieces of static, automatic and allocated memory and of the own segment.
static void many(gasnet_node_t peer) {
	enum { N = 200 };
	static uint64_t fixed[N];
	uint64_t automatic[N], *heap = malloc(sizeof *heap * N), *own = (uint64_t *)((unsigned char *)segments[me].addr + (size_t)ranks * AREA);
	gasnet_handle_t handles[N];
	uint64_t *to = (uint64_t *)area(peer), back[N * 4];
	CHECK(heap != NULL);
	for (uint64_t i = 0; i < N; i++) {
		fixed[i] = i;
		automatic[i] = i + 1000;
		heap[i] = i + 2000;
		own[i] = i + 3000;
		gasnet_memvec_t dst[1] = {{to + 4 * i, 32}}, src[4] = {{fixed + i, 8}, {automatic + i, 8}, {heap + i, 8}, {own + i, 8}};
		handles[i] = gasnet_putv_nb_bulk(peer, 1, dst, 4, src);
	}
	gasnet_wait_syncnb_all(handles, N);
	gasnet_get_bulk(back, peer, to, sizeof back);
	for (uint64_t i = 0; i < N; i++) {
		for (uint64_t k = 0; k < 4; k++) {
			CHECK(back[4 * i + k] == i + 1000 * k);
		}
	}
	free(heap);
}

int main(int argc, char **argv) {
	OK(gasnet_init(&argc, &argv));
	me = gasnet_mynode();
	ranks = gasnet_nodes();
	OK(gasnet_attach(NULL, 0, ((size_t)ranks + 1) * AREA, 0));
	segments = calloc(ranks, sizeof *segments);
	OK(gasnet_getSegmentInfo(segments, (int)ranks));
	seed = me + 1;
	BARRIER();
	for (gasnet_node_t i = 0; i < ranks; i++) {
		gasnet_node_t peer = (me + i) % ranks;
		nothing(peer);
		many(peer);
		for (int trial = 0; trial < TRIALS; trial++) {
			vector(peer, (enum form)(trial % FORMS));
			indexed(peer, (enum form)(trial % FORMS));
			strided(peer, (enum form)(trial % FORMS), below(5) == 0 ? DIMS : below(6));
		}
	}
	BARRIER();
	printf("transfers of rank %d of %d are right\n", (int)me, (int)ranks);
	return 0;
}
