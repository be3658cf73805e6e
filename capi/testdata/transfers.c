// Puts, gets and memsets in all forms, between all ranks, and barriers.

#include "check.h"

enum { AREA = 64 << 10 }; // of each writer in every segment

static gasnet_seginfo_t *segments;
static gasnet_node_t me, ranks;

// Where in owner's segment writer may write, and its byte i there.
static unsigned char *area(gasnet_node_t owner, gasnet_node_t writer) {
	return (unsigned char *)segments[owner].addr + (size_t)writer * AREA;
}

static void fill(unsigned char *buf, size_t n, unsigned seed) {
	for (size_t i = 0; i < n; i++) {
		buf[i] = (unsigned char)(i * 13 + seed);
	}
}

static int filled(const unsigned char *buf, size_t n, unsigned seed) {
	for (size_t i = 0; i < n; i++) {
		if (buf[i] != (unsigned char)(i * 13 + seed)) {
			return 0;
		}
	}
	return 1;
}

// The sizes that are moved: values, what one message carries, and what takes several.
static const size_t sizes[] = {0, 1, 2, 3, 4, 7, 8, 9, 64, 1000, 4096, 5000, AREA};
enum { SIZES = sizeof sizes / sizeof *sizes };

static unsigned char from[AREA], back[AREA];

static void clear(void) { memset(back, 0xEE, sizeof back); }

static void blocking(gasnet_node_t peer, size_t n, unsigned seed) {
	unsigned char *to = area(peer, me);
	fill(from, n, seed);
	gasnet_put(peer, to, from, n);
	clear();
	gasnet_get(back, peer, to, n);
	CHECK(filled(back, n, seed));
	fill(from, n, seed + 1);
	gasnet_put_bulk(peer, to, from, n);
	clear();
	gasnet_get_bulk(back, peer, to, n);
	CHECK(filled(back, n, seed + 1));
	gasnet_memset(peer, to, 0x1A5, n);
	gasnet_get(back, peer, to, n);
	for (size_t i = 0; i < n; i++) {
		CHECK(back[i] == 0xA5);
	}
}

static void with_handle(gasnet_node_t peer, size_t n, unsigned seed) {
	unsigned char *to = area(peer, me);
	fill(from, n, seed);
	gasnet_handle_t h = gasnet_put_nb(peer, to, from, n);
	memset(from, 0, n); // it may be, without bulk
	gasnet_wait_syncnb(h);
	clear();
	gasnet_wait_syncnb(gasnet_get_nb(back, peer, to, n));
	CHECK(filled(back, n, seed));

	fill(from, n, seed + 2);
	h = gasnet_put_nb_bulk(peer, to, from, n);
	while (gasnet_try_syncnb(h) != GASNET_OK) {
	}
	clear();
	gasnet_handle_t list[3] = {GASNET_INVALID_HANDLE, gasnet_get_nb_bulk(back, peer, to, n), GASNET_INVALID_HANDLE};
	gasnet_wait_syncnb_all(list, 3);
	CHECK(list[1] == GASNET_INVALID_HANDLE && filled(back, n, seed + 2));
	OK(gasnet_try_syncnb_all(list, 3));
	OK(gasnet_try_syncnb_some(list, 3));
	gasnet_wait_syncnb_some(list, 3);
	gasnet_wait_syncnb_all(list, 0);

	list[0] = gasnet_memset_nb(peer, to, 7, n);
	while (gasnet_try_syncnb_all(list, 3) != GASNET_OK) {
	}
	list[2] = gasnet_get_nb(back, peer, to, n);
	gasnet_wait_syncnb_some(list, 3);
	CHECK(list[2] == GASNET_INVALID_HANDLE);
	for (size_t i = 0; i < n; i++) {
		CHECK(back[i] == 7);
	}
}

static void implicit(gasnet_node_t peer, size_t n, unsigned seed) {
	unsigned char *to = area(peer, me);
	fill(from, n, seed);
	gasnet_put_nbi(peer, to, from, n);
	memset(from, 0, n);
	gasnet_wait_syncnbi_puts();
	clear();
	gasnet_get_nbi(back, peer, to, n);
	gasnet_wait_syncnbi_gets();
	CHECK(filled(back, n, seed));

	fill(from, n, seed + 3);
	gasnet_begin_nbi_accessregion();
	gasnet_put_nbi_bulk(peer, to, from, n);
	gasnet_handle_t h = gasnet_end_nbi_accessregion();
	OK(gasnet_try_syncnbi_all());
	gasnet_wait_syncnb(h);
	clear();
	gasnet_get_nbi_bulk(back, peer, to, n);
	while (gasnet_try_syncnbi_gets() != GASNET_OK) {
	}
	OK(gasnet_try_syncnbi_puts());
	CHECK(filled(back, n, seed + 3));
	gasnet_memset_nbi(peer, to, 9, n);
	gasnet_wait_syncnbi_all();
	gasnet_get(back, peer, to, n);
	for (size_t i = 0; i < n; i++) {
		CHECK(back[i] == 9);
	}
}

static void values(gasnet_node_t peer) {
	unsigned char *to = area(peer, me);
	const gasnet_register_value_t v = 0x8182838485868788u;
	for (size_t n = 1; n <= SIZEOF_GASNET_REGISTER_VALUE_T; n++) {
		gasnet_register_value_t want = n == 8 ? v : v & ((((gasnet_register_value_t)1) << (8 * n)) - 1);
		gasnet_memset(peer, to, 0x55, 64);
		gasnet_put_val(peer, to, v, n);
		gasnet_wait_syncnb(gasnet_put_nb_val(peer, to + 16, v, n));
		gasnet_put_nbi_val(peer, to + 32, v, n);
		gasnet_wait_syncnbi_puts();
		for (size_t at = 0; at < 48; at += 16) {
			CHECK(gasnet_get_val(peer, to + at, n) == want);
			CHECK(gasnet_wait_syncnb_valget(gasnet_get_nb_val(peer, to + at, n)) == want);
			CHECK(gasnet_get_val(peer, to + at + n, 1) == 0x55);
		}
	}
}

// Many operations of every kind at once.
static void many(gasnet_node_t peer) {
	enum { N = 2000 };
	static gasnet_handle_t handles[N];
	static uint32_t in[N], out[N];
	uint32_t *to = (uint32_t *)area(peer, me);
	for (uint32_t i = 0; i < N; i++) {
		in[i] = i * 3 + me;
		handles[i] = gasnet_put_nb_bulk(peer, to + i, in + i, sizeof *in);
		gasnet_put_nbi_bulk(peer, to + N + i, in + i, sizeof *in);
	}
	size_t left = N;
	while (left > 0) {
		gasnet_wait_syncnb_some(handles, N);
		left = 0;
		for (size_t i = 0; i < N; i++) {
			left += handles[i] != GASNET_INVALID_HANDLE;
		}
	}
	gasnet_wait_syncnbi_puts();
	for (int half = 0; half < 2; half++) {
		memset(out, 0, sizeof out);
		for (uint32_t i = 0; i < N; i++) {
			gasnet_get_nbi(out + i, peer, to + half * N + i, sizeof *out);
		}
		gasnet_wait_syncnbi_gets();
		CHECK(memcmp(in, out, sizeof in) == 0);
	}
}

static void barriers(void) {
	int id = 0;
	gasnet_barrier_notify(41, 0);
	OK(gasnet_barrier_wait(41, 0));
	CHECK(gasnet_barrier_result(&id) == 0 && id == 41);
	gasnet_barrier_notify(42, me % 2 == 0 ? 0 : GASNET_BARRIERFLAG_ANONYMOUS);
	int r;
	while ((r = gasnet_barrier_try(42, me % 2 == 0 ? 0 : GASNET_BARRIERFLAG_ANONYMOUS)) == GASNET_ERR_NOT_READY) {
	}
	OK(r);
	CHECK(gasnet_barrier_result(&id) == 0 && id == 42);
	OK(gasnet_barrier(7, GASNET_BARRIERFLAG_UNNAMED));
	CHECK(gasnet_barrier_result(&id) != 0);
	gasnet_barrier_notify((int)me, 0);
	CHECK(gasnet_barrier_wait((int)me, 0) == (ranks == 1 ? GASNET_OK : GASNET_ERR_BARRIER_MISMATCH));
	gasnet_barrier_notify(5, me == 0 ? GASNET_BARRIERFLAG_MISMATCH : 0);
	CHECK(gasnet_barrier_wait(5, me == 0 ? GASNET_BARRIERFLAG_MISMATCH : 0) == GASNET_ERR_BARRIER_MISMATCH);
	CHECK(gasnet_barrier(0xcafef00d, 0) == GASNET_OK);
}

// Segments of ranks that share memory can be reached by loads and stores.
static void neighbours(void) {
	gasnet_nodeinfo_t *nodes = calloc(ranks, sizeof *nodes);
	OK(gasnet_getNodeInfo(nodes, (int)ranks));
	CHECK(nodes[me].offset == 0);
	for (gasnet_node_t r = 0; r < ranks; r++) {
		if (nodes[r].supernode == nodes[me].supernode) {
			unsigned char *seen = (unsigned char *)((uintptr_t)area(r, me) + nodes[r].offset);
			CHECK(nodes[r].host == nodes[me].host);
			seen[5] = 99;
			CHECK(gasnet_get_val(r, area(r, me) + 5, 1) == 99);
		}
	}
	free(nodes);
}

int main(int argc, char **argv) {
	OK(gasnet_init(&argc, &argv));
	me = gasnet_mynode();
	ranks = gasnet_nodes();
	size_t size = ((size_t)ranks * AREA + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
	CHECK(size <= gasnet_getMaxGlobalSegmentSize() && gasnet_getMaxGlobalSegmentSize() <= gasnet_getMaxLocalSegmentSize());
	OK(gasnet_attach(NULL, 0, size, 0));
	segments = calloc(ranks, sizeof *segments);
	OK(gasnet_getSegmentInfo(segments, (int)ranks));
	BARRIER();
	for (gasnet_node_t i = 0; i < ranks; i++) {
		gasnet_node_t peer = (me + i) % ranks;
		for (int s = 0; s < SIZES; s++) {
			blocking(peer, sizes[s], me + (unsigned)s);
			with_handle(peer, sizes[s], me + 100 + (unsigned)s);
			implicit(peer, sizes[s], me + 200 + (unsigned)s);
		}
		values(peer);
		many(peer);
	}
	barriers();
	neighbours();
	BARRIER();
	printf("transfers of rank %d of %d are right\n", (int)me, (int)ranks);
	return 0;
}
