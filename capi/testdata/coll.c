// Collective calls in all forms with all kinds of synchronisation, and teams. The argument is how many images ranks have at
// most, which are threads then.

#define _GNU_SOURCE // for MAP_ANONYMOUS
#include "check.h"
#include <gasnet_coll.h>

#include <pthread.h>
#include <sys/mman.h>

enum { MAX_IMAGES = 32, BLOCK = 3000, ROOM = MAX_IMAGES * BLOCK, TRIALS = 630, IN_FLIGHT = 200 };

static gasnet_node_t me, ranks;
static gasnet_seginfo_t *segments;
static gasnet_image_t images[MAX_IMAGES], first, own, total;

// What an image has: buffers, and the addresses of everybody's.
struct image {
	int local;
	gasnet_image_t number;
	unsigned char *dst, *src;
};
static struct image mine[MAX_IMAGES];
static void *local_dst[MAX_IMAGES], *local_src[MAX_IMAGES];
static void *all_dst[MAX_IMAGES][MAX_IMAGES], *all_src[MAX_IMAGES][MAX_IMAGES]; // by local image that knows them

// A byte of what image from has for image to.
static unsigned char byte(unsigned from, unsigned to, size_t i, unsigned trial) {
	return (unsigned char)(from * 31 + to * 7 + i * 3 + trial * 13);
}

static void sum(void *results, size_t n, const void *left, size_t left_n, const void *right, size_t size, int flags, int arg) {
	uint64_t *out = results;
	const uint64_t *l = left, *r = right;
	(void)flags;
	if (n != left_n || size != 8 || arg != 77) {
		abort();
	}
	for (size_t i = 0; i < n; i++) {
		out[i] = l[i] + r[i];
	}
}

// Affine maps, whose composition does not commute.
struct map {
	uint64_t a, b;
};

static struct map compose(struct map l, struct map r) {
	struct map m = {l.a * r.a, l.a * r.b + l.b};
	return m;
}

static void composed(void *results, size_t n, const void *left, size_t left_n, const void *right, size_t size, int flags, int arg) {
	(void)flags;
	if (n != left_n || size != sizeof(struct map) || arg != -3) {
		abort();
	}
	for (size_t i = 0; i < n; i++) {
		((struct map *)results)[i] = compose(((const struct map *)left)[i], ((const struct map *)right)[i]);
	}
}

static gasnet_coll_fn_entry_t functions[] = {{sum, GASNET_COLL_AMSAFE}, {composed, GASNET_COLL_NONCOMM}};

static uint64_t number(unsigned im, size_t i, unsigned trial) { return im * 1000003ull + i * 17 + trial * 5 + 1; }
static struct map map_of(unsigned im, size_t i, unsigned trial) {
	struct map m = {number(im, i, trial), number(im + 100, i, trial)};
	return m;
}

// How a trial calls.
struct how {
	int lists, nb, flags;
	void *const *dsts, *const *srcs;
	void *dst, *src;
};

#define CALL(name, LIST_DST, LIST_SRC, before, between, after)                                       \
	do {                                                                                             \
		gasnet_coll_handle_t call_handle = GASNET_COLL_INVALID_HANDLE;                               \
		if (how.lists && how.nb) call_handle = gasnet_coll_##name##M_nb(LIST(before, LIST_DST, between, LIST_SRC, after)); \
		else if (how.lists) gasnet_coll_##name##M(LIST(before, LIST_DST, between, LIST_SRC, after)); \
		else if (how.nb) call_handle = gasnet_coll_##name##_nb(LIST(before, how.dst, between, how.src, after)); \
		else gasnet_coll_##name(LIST(before, how.dst, between, how.src, after));                     \
		if (how.nb == 1) gasnet_coll_wait_sync(call_handle);                                         \
		while (how.nb == 2 && gasnet_coll_try_sync(call_handle) != GASNET_OK) {                      \
		}                                                                                            \
	} while (0)
#define LIST(before, dst, between, src, after) UNWRAP before dst UNWRAP between src UNWRAP after
#define UNWRAP(...) __VA_ARGS__

static void expect(const struct image *im, size_t at, unsigned from, unsigned to, size_t n, unsigned trial) {
	for (size_t i = 0; i < n; i++) {
		CHECK(im->dst[at + i] == byte(from, to, i, trial));
	}
}

static void movement(struct image *im, unsigned trial, int op, size_t n, gasnet_image_t root, struct how how) {
	for (unsigned to = 0; to < total; to++) {
		for (size_t i = 0; i < n; i++) {
			im->src[to * n + i] = byte(im->number, to, i, trial);
		}
	}
	memset(im->dst, 0xEE, ROOM);
	switch (op) {
	case 0:
		CALL(broadcast, how.dsts, how.src, (GASNET_TEAM_ALL,), (, root,), (, n, how.flags));
		expect(im, 0, root, 0, n, trial);
		break;
	case 1:
		CALL(scatter, how.dsts, how.src, (GASNET_TEAM_ALL,), (, root,), (, n, how.flags));
		expect(im, 0, root, im->number, n, trial);
		break;
	case 2:
		CALL(gather, how.dst, how.srcs, (GASNET_TEAM_ALL, root,), (,), (, n, how.flags));
		for (unsigned from = 0; from < total && im->number == root; from++) {
			expect(im, from * n, from, 0, n, trial);
		}
		break;
	case 3:
		CALL(gather_all, how.dsts, how.srcs, (GASNET_TEAM_ALL,), (,), (, n, how.flags));
		for (unsigned from = 0; from < total; from++) {
			expect(im, from * n, from, 0, n, trial);
		}
		break;
	case 4:
		CALL(exchange, how.dsts, how.srcs, (GASNET_TEAM_ALL,), (,), (, n, how.flags));
		for (unsigned from = 0; from < total; from++) {
			expect(im, from * n, from, im->number, n, trial);
		}
	}
}

static void reductions(struct image *im, unsigned trial, int op, size_t n, gasnet_image_t root, struct how how) {
	int fn = (int)(trial / 7 % 2), arg = fn == 0 ? 77 : -3;
	size_t size = fn == 0 ? sizeof(uint64_t) : sizeof(struct map);
	int exclusive = op == 6 && trial / 14 % 2;
	for (size_t i = 0; i < n; i++) {
		if (fn == 0) {
			((uint64_t *)(void *)im->src)[i] = number(im->number, i, trial);
		} else {
			((struct map *)(void *)im->src)[i] = map_of(im->number, i, trial);
		}
	}
	memset(im->dst, 0xEE, ROOM);
	if (op == 5) {
		CALL(reduce, how.dst, how.srcs, (GASNET_TEAM_ALL, root,), (,), (, 0, 0, size, n, fn, arg, how.flags));
		if (im->number != root) {
			return;
		}
	} else {
		how.flags |= exclusive ? GASNET_COLL_EXCLUSIVE_SCAN : GASNET_COLL_INCLUSIVE_SCAN;
		CALL(scan, how.dsts, how.srcs, (GASNET_TEAM_ALL,), (, 0, 0,), (, 0, 0, size, n, fn, arg, how.flags));
	}
	gasnet_image_t last = op == 5 ? total - 1 : im->number;
	if (exclusive && last-- == 0) {
		CHECK(im->dst[0] == 0xEE);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t s = number(0, i, trial);
		struct map m = map_of(0, i, trial);
		for (unsigned k = 1; k <= last; k++) {
			s += number(k, i, trial);
			m = compose(m, map_of(k, i, trial));
		}
		CHECK(fn == 0 ? ((uint64_t *)(void *)im->dst)[i] == s : memcmp(im->dst + i * sizeof m, &m, sizeof m) == 0);
	}
}

static void trials(struct image *im) {
	static const int in[] = {GASNET_COLL_IN_NOSYNC, GASNET_COLL_IN_MYSYNC, GASNET_COLL_IN_ALLSYNC};
	static const int out[] = {GASNET_COLL_OUT_NOSYNC, GASNET_COLL_OUT_MYSYNC, GASNET_COLL_OUT_ALLSYNC};
	static const size_t sizes[] = {1, 8, 100, 1000, BLOCK}, elements[] = {1, 2, 7, 188, ROOM / sizeof(struct map)};
	void *elsewhere = &elsewhere; // for arguments that do not apply
	for (unsigned trial = 0; trial < (total == ranks ? TRIALS : TRIALS / 2); trial++) {
		int op = (int)(trial % 7), single = (int)(trial / 3 % 2);
		gasnet_image_t root = trial % total;
		size_t n = sizes[trial % 5];
		struct how how = {(int)(trial / 2 % 2), (int)(trial / 5 % 3), in[trial / 7 % 3] | out[trial / 21 % 3], NULL, NULL, im->dst, im->src};
		single = single && (how.lists || total == ranks); // several images of a rank have no address in common
		how.flags |= single ? GASNET_COLL_SINGLE : GASNET_COLL_LOCAL;
		how.dsts = single ? all_dst[im->local] : local_dst;
		how.srcs = single ? all_src[im->local] : local_src;
		if (!single && im->number != root) {
			how.src = op <= 1 ? elsewhere : how.src;
			how.dst = op == 2 || op == 5 ? elsewhere : how.dst;
		}
		if (op < 5) {
			movement(im, trial, op, n, root, how);
		} else {
			reductions(im, trial, op, elements[trial % 5], root, how);
		}
	}
}

// Many calls at once, synchronised in another order.
static void in_flight(struct image *im) {
	static gasnet_coll_handle_t handles[MAX_IMAGES][IN_FLIGHT];
	gasnet_coll_handle_t *h = handles[im->local];
	uint32_t *dst = (uint32_t *)(void *)im->dst, *src = (uint32_t *)(void *)im->src;
	for (int round = 0; round < 4; round++) {
		for (uint32_t i = 0; i < IN_FLIGHT; i++) {
			int sync = i % 3 == 0 ? GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC : i % 3 == 1 ? GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC : GASNET_COLL_IN_NOSYNC | GASNET_COLL_OUT_ALLSYNC;
			gasnet_image_t root = i % total;
			src[i] = im->number == root ? i * 5 + (uint32_t)round : 0;
			dst[i] = 0;
			h[i] = gasnet_coll_broadcast_nb(GASNET_TEAM_ALL, dst + i, root, src + i, 4, sync | GASNET_COLL_LOCAL | (i % 10 == 4 ? GASNET_COLL_AGGREGATE : 0));
		}
		switch (round) {
		case 0:
			for (int i = IN_FLIGHT; i > 0; i--) {
				gasnet_coll_wait_sync(h[i - 1]);
			}
			break;
		case 1: gasnet_coll_wait_sync_all(h, IN_FLIGHT); break;
		case 2:
			while (gasnet_coll_try_sync_all(h, IN_FLIGHT) != GASNET_OK) {
			}
			break;
		case 3:
			for (int left = 1; left;) {
				if (gasnet_coll_try_sync_some(h, IN_FLIGHT) != GASNET_OK) {
					gasnet_coll_wait_sync_some(h, IN_FLIGHT);
				}
				left = 0;
				for (int i = 0; i < IN_FLIGHT; i++) {
					left = left || h[i] != GASNET_COLL_INVALID_HANDLE;
				}
			}
		}
		for (uint32_t i = 0; i < IN_FLIGHT; i++) {
			CHECK(round == 0 || h[i] == GASNET_COLL_INVALID_HANDLE);
			CHECK(dst[i] == i * 5 + (uint32_t)round);
		}
	}
}

static void learn(struct image *im) {
	gasnet_coll_init(total == ranks ? NULL : images, im->number, functions, 2, 0);
	int flags = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL;
	void *dst = im->dst, *src = im->src;
	gasnet_coll_gather_all(GASNET_TEAM_ALL, all_dst[im->local], &dst, sizeof dst, flags);
	gasnet_coll_gather_all(GASNET_TEAM_ALL, all_src[im->local], &src, sizeof src, flags);
}

static void *run(void *image) {
	struct image *im = image;
	learn(im);
	trials(im);
	in_flight(im);
	return NULL;
}

// Ranks write to the root's source before they enter, and read the next one's destination when they are through.
static void all_sync(void) {
	uint64_t *src = segments[0].addr, *dst = (uint64_t *)segments[me].addr + MAX_IMAGES, seen[MAX_IMAGES];
	for (uint64_t round = 1; round < 50; round++) {
		for (unsigned i = 0; i < (me + round) % ranks * 300; i++) {
			gasnet_AMPoll();
		}
		gasnet_put_val(0, src + me, me + 100 * round, 8);
		gasnet_coll_handle_t h = gasnet_coll_broadcast_nb(GASNET_TEAM_ALL, dst, 0, src, 8 * ranks, GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC | GASNET_COLL_LOCAL);
		gasnet_coll_wait_sync(h);
		gasnet_node_t peer = (me + 1) % ranks;
		gasnet_get(seen, peer, (uint64_t *)segments[peer].addr + MAX_IMAGES, 8 * ranks);
		for (gasnet_node_t r = 0; r < ranks; r++) {
			CHECK(seen[r] == r + 100 * round);
		}
		gasnet_coll_gather(GASNET_TEAM_ALL, 0, dst, seen, 8, GASNET_COLL_LOCAL); // a barrier on both sides
	}
}

static volatile int released;

static void on_release(gasnet_token_t token) {
	(void)token;
	released++;
}

// A rank that has begun calls serves them while it waits for something else.
static void served(void) {
	uint32_t in = me, out[MAX_IMAGES];
	gasnet_coll_handle_t h = gasnet_coll_gather_all_nb(GASNET_TEAM_ALL, out, &in, 4, GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC | GASNET_COLL_LOCAL);
	if (me == 0) {
		GASNET_BLOCKUNTIL(released == (int)ranks - 1);
	} else {
		gasnet_coll_wait_sync(h);
		OK(gasnet_AMRequestShort0(0, 200));
	}
	if (me == 0) {
		gasnet_coll_wait_sync(h);
	}
	for (gasnet_node_t r = 0; r < ranks; r++) {
		CHECK(out[r] == r);
	}
}

static void teams(void) {
	int flags = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL, id = 0;
	gasnet_node_t color = me % 2, members = (ranks + 1 - color) / 2, rank = members - 1 - me / 2;
	CHECK(gasnet_coll_team_size(GASNET_TEAM_ALL) == ranks);
	gasnet_team_handle_t team = gasnet_coll_team_split(GASNET_TEAM_ALL, color, rank, NULL);
	CHECK(gasnet_coll_team_size(team) == members && gasnet_coll_team_node2rank(team, me) == rank);
	for (gasnet_node_t r = 0; r < members; r++) {
		CHECK(gasnet_coll_team_rank2node(team, (int)r) == color + 2 * (members - 1 - r));
	}
	for (gasnet_image_t root = 0; root < members; root++) {
		uint32_t in = me * 10 + root, out = 0, all[MAX_IMAGES];
		gasnet_coll_broadcast(team, &out, root, &in, sizeof in, flags);
		CHECK(out == gasnet_coll_team_rank2node(team, (int)root) * 10 + root);
		gasnet_coll_gather_all(team, all, &in, sizeof in, flags | GASNET_COLL_NO_IMAGES);
		CHECK(all[rank] == in);
	}
	gasnet_coll_barrier_notify(team, (int)color, 0);
	OK(gasnet_coll_barrier_wait(team, (int)color, 0));
	CHECK(gasnet_coll_barrier_result(team, &id) == 0 && id == (int)color);
	OK(gasnet_coll_barrier(team, 5, GASNET_BARRIERFLAG_ANONYMOUS));
	CHECK(gasnet_coll_barrier_result(team, &id) != 0);
	gasnet_coll_barrier_notify(team, (int)rank, 0);
	int r;
	while ((r = gasnet_coll_barrier_try(team, (int)rank, 0)) == GASNET_ERR_NOT_READY) {
	}
	CHECK(r == (members == 1 ? GASNET_OK : GASNET_ERR_BARRIER_MISMATCH));
	gasnet_coll_loadTuningState(NULL, team);
}

int main(int argc, char **argv) {
	gasnet_handlerentry_t table[] = {{200, (gasneti_fn_t)on_release}};
	OK(gasnet_init(&argc, &argv));
	OK(gasnet_attach(table, 1, GASNET_PAGESIZE, 0));
	me = gasnet_mynode();
	ranks = gasnet_nodes();
	segments = calloc(ranks, sizeof *segments);
	OK(gasnet_getSegmentInfo(segments, (int)ranks));
	unsigned most = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	for (gasnet_node_t r = 0; r < ranks; r++) {
		images[r] = most == 1 ? 1 : 1 + (r + 1) % most;
		first += r < me ? images[r] : 0;
		total += images[r];
	}
	own = images[me];
	// The same addresses on all ranks, for those that have one image.
	unsigned char *memory = mmap((void *)0x200000000000, 2 * ROOM * own, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory == (unsigned char *)0x200000000000);
	for (int i = 0; i < (int)own; i++) {
		struct image im = {i, first + (gasnet_image_t)i, memory + 2 * i * ROOM, memory + (2 * i + 1) * ROOM};
		mine[i] = im;
		local_dst[i] = im.dst;
		local_src[i] = im.src;
	}
	pthread_t threads[MAX_IMAGES];
	for (int i = 1; i < (int)own; i++) {
		CHECK(pthread_create(&threads[i], NULL, run, &mine[i]) == 0);
	}
	run(&mine[0]);
	for (int i = 1; i < (int)own; i++) {
		CHECK(pthread_join(threads[i], NULL) == 0);
	}
	if (total == ranks) {
		all_sync();
		served();
		teams();
	}
	BARRIER();
	printf("collectives of rank %d of %d are right\n", (int)me, (int)ranks);
	return 0;
}
