// The heat equation on a plate that is divided into tiles, one for each rank. Edges go to neighbours by strided puts, and
// the greatest change by a reduction. Every rank computes the whole plate by itself too, which gives the same bits.

#include "check.h"
#include <gasnet_coll.h>
#include <gasnet_vis.h>

enum { SIZE = 48, STEPS = 60, PITCH = SIZE + 2, PLATE = PITCH * PITCH }; // a tile has at most as many points as the plate

static gasnet_seginfo_t *segments;
static gasnet_node_t me, ranks;

// A tile has two versions, with a border of one point, in the rank's segment.
static int begin_of(gasnet_node_t i, gasnet_node_t n) { return (int)(SIZE * i / n); }
static double *tile(gasnet_node_t owner, int version) { return (double *)segments[owner].addr + version * PLATE; }

static double start(int y, int x) { return (double)((y * 37 + x * 101) % 97); }

static double next(const double *p) { return p[0] + 0.2 * (p[1] + p[-1] + p[PITCH] + p[-PITCH] - 4 * p[0]); }

static void greatest(void *results, size_t n, const void *left, size_t left_n, const void *right, size_t size, int flags, int arg) {
	const double *l = left, *r = right;
	double *out = results;
	(void)left_n, (void)size, (void)flags, (void)arg;
	for (size_t i = 0; i < n; i++) {
		out[i] = l[i] > r[i] ? l[i] : r[i];
	}
}

static double change(double before, double after) { return before > after ? before - after : after - before; }

// Sends an edge, which begins at point from of this rank's tile and has the other one's border at point to.
static void send(gasnet_node_t peer, int version, int to, int from, size_t bytes, size_t count) {
	const size_t counts[2] = {bytes, count}, stride[1] = {PITCH * sizeof(double)};
	gasnet_puts_nbi_bulk(peer, tile(peer, version) + to, stride, tile(me, version) + from, stride, counts, 1);
}

int main(int argc, char **argv) {
	OK(gasnet_init(&argc, &argv));
	OK(gasnet_attach(NULL, 0, (2 * PLATE * sizeof(double) / GASNET_PAGESIZE + 1) * GASNET_PAGESIZE, 0));
	me = gasnet_mynode();
	ranks = gasnet_nodes();
	segments = calloc(ranks, sizeof *segments);
	OK(gasnet_getSegmentInfo(segments, (int)ranks));
	gasnet_coll_fn_entry_t functions[] = {{greatest, GASNET_COLL_AMSAFE}};
	gasnet_coll_init(NULL, me, functions, 1, 0);

	// Ranks are in rows of across each.
	gasnet_node_t across = ranks % 2 == 0 ? ranks / 2 : ranks;
	gasnet_node_t down = ranks / across, row = me / across, col = me % across;
	int top = begin_of(row, down), left = begin_of(col, across);
	int height = begin_of(row + 1, down) - top, width = begin_of(col + 1, across) - left;
	size_t line = (size_t)width * sizeof(double);
	memset(tile(me, 0), 0, 2 * PLATE * sizeof(double));
	for (int y = 0; y < height; y++) {
		for (int x = 0; x < width; x++) {
			tile(me, 0)[(y + 1) * PITCH + x + 1] = start(top + y, left + x);
		}
	}
	static double plate[2][PLATE];
	for (int y = 0; y < SIZE; y++) {
		for (int x = 0; x < SIZE; x++) {
			plate[0][(y + 1) * PITCH + x + 1] = start(y, x);
		}
	}
	BARRIER();
	for (int step = 0; step < STEPS; step++) {
		int v = step % 2;
		if (row > 0) {
			int theirs = begin_of(row, down) - begin_of(row - 1, down);
			send(me - across, v, (theirs + 1) * PITCH + 1, PITCH + 1, line, 1);
		}
		if (row + 1 < down) {
			send(me + across, v, 1, height * PITCH + 1, line, 1);
		}
		if (col > 0) {
			int theirs = begin_of(col, across) - begin_of(col - 1, across);
			send(me - 1, v, PITCH + theirs + 1, PITCH + 1, sizeof(double), (size_t)height);
		}
		if (col + 1 < across) {
			send(me + 1, v, PITCH, PITCH + width, sizeof(double), (size_t)height);
		}
		gasnet_wait_syncnbi_puts();
		BARRIER();
		double most = 0, of_all = -1, expected = 0;
		for (int y = 1; y <= height; y++) {
			for (int x = 1; x <= width; x++) {
				const double *p = tile(me, v) + y * PITCH + x;
				tile(me, !v)[y * PITCH + x] = next(p);
				most = change(*p, next(p)) > most ? change(*p, next(p)) : most;
			}
		}
		for (int y = 1; y <= SIZE; y++) {
			for (int x = 1; x <= SIZE; x++) {
				const double *p = plate[v] + y * PITCH + x;
				plate[!v][y * PITCH + x] = next(p);
				expected = change(*p, next(p)) > expected ? change(*p, next(p)) : expected;
			}
		}
		gasnet_coll_reduce(GASNET_TEAM_ALL, 0, &of_all, &most, 0, 0, sizeof(double), 1, 0, 0, GASNET_COLL_LOCAL);
		CHECK(me != 0 || memcmp(&of_all, &expected, sizeof expected) == 0);
	}
	for (int y = 0; y < height; y++) {
		CHECK(memcmp(tile(me, 0) + (y + 1) * PITCH + 1, plate[0] + (top + y + 1) * PITCH + left + 1, line) == 0);
	}
	BARRIER();
	printf("heat of rank %d of %d is right\n", (int)me, (int)ranks);
	return 0;
}
