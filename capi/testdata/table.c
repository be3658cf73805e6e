// A hash table over all ranks, as in UPC: who inserts sends a message to the owner of the bucket, and who looks up reads the
// owner's memory. The owner counts how often a key was inserted.

#include "check.h"

enum { SLOTS = 4096, KEYS = 1500, HANDLER_INSERT = 200, HANDLER_DONE, WINDOW = 64 };

struct slot {
	uint64_t key, count; // key 0: it is free
};

static gasnet_seginfo_t *segments;
static gasnet_node_t me, ranks;
static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;
static volatile unsigned done;

static uint64_t hash(uint64_t key) { return (key ^ key >> 31) * 0x9E3779B97F4A7C15u >> 17; }
static gasnet_node_t owner(uint64_t key) { return (gasnet_node_t)(hash(key) % ranks); }
static uint64_t home(uint64_t key) { return hash(key) / ranks % SLOTS; }

static void on_insert(gasnet_token_t token, gasnet_handlerarg_t high, gasnet_handlerarg_t low) {
	uint64_t key = (uint64_t)(uint32_t)high << 32 | (uint32_t)low;
	struct slot *slots = segments[me].addr;
	gasnet_hsl_lock(&lock);
	uint64_t i = home(key);
	while (slots[i].key != 0 && slots[i].key != key) {
		i = (i + 1) % SLOTS;
	}
	slots[i].key = key;
	slots[i].count++;
	gasnet_hsl_unlock(&lock);
	OK(gasnet_AMReplyShort0(token, HANDLER_DONE));
}

static void on_done(gasnet_token_t token) {
	(void)token;
	__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
}

static void insert(uint64_t key, unsigned sent) {
	OK(gasnet_AMRequestShort2(owner(key), HANDLER_INSERT, (uint32_t)(key >> 32), (uint32_t)key));
	GASNET_BLOCKUNTIL(sent - done < WINDOW);
}

static uint64_t lookup(uint64_t key) {
	struct slot *slots = segments[owner(key)].addr, s;
	for (uint64_t i = home(key);; i = (i + 1) % SLOTS) {
		gasnet_get(&s, owner(key), slots + i, sizeof s);
		if (s.key == 0 || s.key == key) {
			return s.key == 0 ? 0 : s.count;
		}
	}
}

// The i-th key of a rank. Neighbours have some in common.
static uint64_t key_of(gasnet_node_t rank, unsigned i) { return i % 3 == 0 ? 1 + i : (uint64_t)(rank + 1) << 40 | (i + 1); }

int main(int argc, char **argv) {
	gasnet_handlerentry_t table[] = {{HANDLER_INSERT, (gasneti_fn_t)on_insert}, {HANDLER_DONE, (gasneti_fn_t)on_done}};
	OK(gasnet_init(&argc, &argv));
	me = gasnet_mynode();
	ranks = gasnet_nodes();
	segments = calloc(ranks, sizeof *segments);
	OK(gasnet_attach(table, 2, SLOTS * sizeof(struct slot), 0));
	OK(gasnet_getSegmentInfo(segments, (int)ranks));
	memset(segments[me].addr, 0, segments[me].size);
	BARRIER();
	unsigned sent = 0;
	for (int twice = 0; twice < 2; twice++) {
		for (unsigned i = 0; i < KEYS; i++) {
			insert(key_of(me, i), ++sent);
		}
	}
	GASNET_BLOCKUNTIL(done == sent);
	BARRIER();
	for (gasnet_node_t r = 0; r < ranks; r++) {
		for (unsigned i = me; i < KEYS; i += ranks) {
			CHECK(lookup(key_of(r, i)) == (i % 3 == 0 ? 2 * ranks : 2));
		}
	}
	CHECK(lookup((uint64_t)1 << 60) == 0);
	BARRIER();
	printf("table of rank %d of %d is right\n", (int)me, (int)ranks);
	return 0;
}
