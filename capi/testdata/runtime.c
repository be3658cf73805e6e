// A runtime of a language, as such programs use the library: it asks for names beyond the specification, joins by GASNet-EX's
// interface and communicates by GASNet-1's as well, registers handlers when segments are attached, has a thread that polls
// where there are threads, and a barrier that tries. Tables of handlers have only as many fields as are needed.

#include <gasnetex.h>
#include <gasnet_coll.h>
#include <gasnet_vis.h>
#include <gasnet_tools.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(HAVE_PTHREAD_H) && !defined(GASNET_SEQ)
#include <pthread.h>
#endif

GASNETT_BEGIN_EXTERNC

#define SAFE(call)                                                                                                       \
	do {                                                                                                                 \
		int safe_result = (call);                                                                                        \
		if_pf (safe_result != GASNET_OK) {                                                                               \
			fprintf(stderr, "ERROR: %s at %s:%i: %s (%s)\n", #call, __FILE__, __LINE__, gasnet_ErrorName(safe_result), gasnet_ErrorDesc(safe_result)); \
			gasnet_exit(safe_result);                                                                                    \
		}                                                                                                                \
	} while (0)
#define ALWAYS(cond) ((cond) ? (void)0 : (void)fatal("%s is false at line %i", #cond, __LINE__))

GASNETT_IDENT(runtime_ident_config, "$GASNetConfig: (<link>) " GASNET_CONFIG_STRING " $");
GASNETT_IDENT(runtime_ident_abi, "$RuntimeBinaryInterface: " GASNETT_SYSTEM_TUPLE " $");

static gasnett_mutex_t message_lock = GASNETT_MUTEX_INITIALIZER;

GASNETT_NORETURN
GASNETT_FORMAT_PRINTF(fatal, 1, 2,
static void fatal(const char *format, ...)) {
	va_list args;
	gasnett_mutex_lock(&message_lock);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	fflush(NULL);
	abort();
}
GASNETT_NORETURNP(fatal)

enum { SIGNAL = GEX_AM_INDEX_BASE, SIGNAL_LONG, RUN, COPY, STOP, FETCH };

// An address as two arguments.
#define ARG0(p) ((gasnet_handlerarg_t)(uint32_t)(uint64_t)(uintptr_t)(p))
#define ARG1(p) ((gasnet_handlerarg_t)(uint32_t)((uint64_t)(uintptr_t)(p) >> 32))

static void *address(gasnet_handlerarg_t a0, gasnet_handlerarg_t a1) { return (void *)(uintptr_t)((uint64_t)(uint32_t)a1 << 32 | (uint32_t)a0); }

struct done {
	gasnett_atomic_t count;
	int target;
	volatile int flag;
};

static void finish(struct done *d) {
	if (gasnett_atomic_add(&d->count, 1, GASNETT_ATOMIC_REL | GASNETT_ATOMIC_ACQ) == (gasnett_atomic_val_t)d->target) {
		d->flag = 1;
	}
}

static void prepare(struct done *d, int target) {
	gasnett_atomic_set(&d->count, 0, GASNETT_ATOMIC_WMB_POST);
	d->target = target;
	d->flag = 0;
}

struct request {
	struct done *ack;
	void *source, *target;
	size_t size;
	int argument;
};

static gasnett_atomic_t ran = gasnett_atomic_init(0);
static volatile int stopped;

static void on_signal(gasnet_token_t token, gasnet_handlerarg_t a0, gasnet_handlerarg_t a1) {
	(void)token;
	finish((struct done *)address(a0, a1));
}

static void on_signal_long(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t a0, gasnet_handlerarg_t a1) {
	(void)token, (void)buf, (void)nbytes;
	finish((struct done *)address(a0, a1));
}

static void on_run(gasnet_token_t token, void *buf, size_t nbytes) {
	struct request *r = (struct request *)buf;
	ALWAYS(nbytes == sizeof *r);
	gasnett_atomic_add(&ran, (gasnett_atomic_val_t)r->argument, 0);
	SAFE(gasnet_AMReplyShort2(token, SIGNAL, ARG0(r->ack), ARG1(r->ack)));
}

static void on_copy(gasnet_token_t token, void *buf, size_t nbytes, gasnet_handlerarg_t ack0, gasnet_handlerarg_t ack1, gasnet_handlerarg_t to0, gasnet_handlerarg_t to1) {
	memcpy(address(to0, to1), buf, nbytes);
	SAFE(gasnet_AMReplyShort2(token, SIGNAL, ack0, ack1));
}

static void on_stop(gasnet_token_t token) {
	(void)token;
	stopped = 1;
}

static void on_fetch(gasnet_token_t token, void *buf, size_t nbytes) {
	struct request *r = (struct request *)buf;
	ALWAYS(nbytes == sizeof *r);
	SAFE(gasnet_AMReplyLong2(token, SIGNAL_LONG, r->source, r->size, r->target, ARG0(r->ack), ARG1(r->ack)));
}

static gex_AM_Entry_t handlers[] = {
	{SIGNAL, (gex_AM_Fn_t)on_signal, GEX_FLAG_AM_REQREP | GEX_FLAG_AM_SHORT, 2, NULL, "signal"},
	{SIGNAL_LONG, (gex_AM_Fn_t)on_signal_long, GEX_FLAG_AM_REPLY | GEX_FLAG_AM_LONG, 2, NULL, "signal long"},
	{RUN, (gex_AM_Fn_t)on_run, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM, 0, NULL, "run"},
	{COPY, (gex_AM_Fn_t)on_copy, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM, 4, NULL, "copy"},
	{STOP, (gex_AM_Fn_t)on_stop, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, NULL, "stop"},
	{FETCH, (gex_AM_Fn_t)on_fetch, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_MEDIUM, 0, NULL, NULL},
};

static gex_Client_t client;
static gex_EP_t ep;
static gex_TM_t team;
static gex_Segment_t segment;
static gasnet_seginfo_t *segments;
static gasnet_node_t me, nodes;

static void *hooked_base;
static void hook(void *base, uintptr_t size) { hooked_base = size > 0 ? base : NULL; }

// Waits by trying, and lets others run meanwhile.
static void barrier(const char *name) {
	int id = name[0], result;
	gasnet_barrier_notify(id, 0);
	while ((result = gasnet_barrier_try(id, 0)) == GASNET_ERR_NOT_READY) {
		gasnett_sched_yield();
	}
	SAFE(result);
}

#ifdef GASNET_PAR
static volatile int quit;

static void *poll_until_quit(void *arg) {
	while (!quit) {
		SAFE(gasnet_AMPoll());
		gasnett_nsleep(20000);
	}
	return arg;
}
#endif

static unsigned char cell(unsigned owner, size_t i) { return (unsigned char)(owner * 31 + i * 7); }

static void work(void) {
	enum { ROUNDS = 20, BYTES = 3000 };
	unsigned char *mine = (unsigned char *)segments[me].addr;
	struct done done;
	prepare(&done, (int)nodes * ROUNDS);
	for (int i = 0; i < ROUNDS; i++) {
		for (gasnet_node_t n = 0; n < nodes; n++) {
			struct request r;
			memset(&r, 0, sizeof r);
			r.ack = &done;
			r.argument = i;
			SAFE(gasnet_AMRequestMedium0(n, RUN, &r, sizeof r));
		}
	}
	GASNET_BLOCKUNTIL(done.flag);
	for (size_t i = 0; i < BYTES; i++) {
		mine[i] = cell(me, i);
	}
	barrier("filled");
	gasnet_node_t peer = (me + 1) % nodes;
	static unsigned char got[BYTES];
	// What lies in a segment is fetched at once, and copied there from outside of it.
	gex_Event_t events[3] = {
		gex_RMA_GetNB(team, got, peer, segments[peer].addr, BYTES / 2, GEX_NO_FLAGS),
		gex_RMA_GetNB(team, got + BYTES / 2, peer, (char *)segments[peer].addr + BYTES / 2, BYTES - BYTES / 2, GEX_NO_FLAGS),
		GEX_EVENT_INVALID,
	};
	gex_Event_WaitSome(events, 3, GEX_NO_FLAGS);
	gex_Event_WaitAll(events, 3, GEX_NO_FLAGS);
	for (size_t i = 0; i < BYTES; i++) {
		ALWAYS(got[i] == cell(peer, i));
	}
	prepare(&done, 2);
	static unsigned char private_copy[BYTES]; // the peer's is at the same place only if it says so
	struct request r;
	memset(&r, 0, sizeof r);
	r.ack = &done;
	r.source = segments[peer].addr;
	r.target = mine + BYTES;
	r.size = BYTES;
	SAFE(gasnet_AMRequestMedium0(peer, FETCH, &r, sizeof r));
	SAFE(gasnet_AMRequestMedium4(me, COPY, mine, BYTES, ARG0(&done), ARG1(&done), ARG0(private_copy), ARG1(private_copy)));
	GASNET_BLOCKUNTIL(done.flag);
	ALWAYS(memcmp(mine + BYTES, got, BYTES) == 0 && memcmp(private_copy, mine, BYTES) == 0);
	barrier("fetched");
	ALWAYS(gasnett_atomic_read(&ran, GASNETT_ATOMIC_RMB_PRE) == (gasnett_atomic_val_t)nodes * ROUNDS * (ROUNDS - 1) / 2);

	void *columns[2];
	unsigned char value[2] = {3, 4}, *area = (unsigned char *)segments[peer].addr + 3 * BYTES;
	void *sources[2];
	for (int i = 0; i < 2; i++) {
		columns[i] = area + 64 * i;
		sources[i] = &value[i];
	}
	gasnet_puti_bulk(peer, 2, columns, 1, 2, sources, 1);
	barrier("scattered");
	ALWAYS(mine[3 * BYTES] == 3 && mine[3 * BYTES + 64] == 4);
	gasnet_coll_init(0, 0, 0, 0, 0);
	uint64_t seed = me == 0 ? 77 : 0;
	gasnet_coll_broadcast(GASNET_TEAM_ALL, &seed, 0, &seed, sizeof seed, GASNET_COLL_LOCAL | GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC);
	ALWAYS(seed == 77);
}

int main(int argc, char **argv) {
	gasnet_client_attach_hook = hook;
	gasnett_setenv("GASNET_MAX_SEGSIZE", "4MB");
	SAFE(gex_Client_Init(&client, &ep, &team, "runtime", &argc, &argv, GEX_FLAG_USES_GASNET1));
	gex_Rank_t on_host, place;
	gex_System_QueryHostInfo(NULL, &on_host, &place);
	me = gasnet_mynode();
	nodes = gasnet_nodes();
	ALWAYS(place < on_host && on_host <= nodes && me == gex_System_QueryJobRank());
	ALWAYS(gasnet_getMaxLocalSegmentSize() <= 4u << 20);
	SAFE(gex_Segment_Attach(&segment, team, gasnet_getMaxLocalSegmentSize()));
	SAFE(gex_EP_RegisterHandlers(ep, handlers, sizeof handlers / sizeof *handlers));
	segments = (gasnet_seginfo_t *)calloc(nodes, sizeof *segments);
	SAFE(gasnet_getSegmentInfo(segments, (int)nodes));
	ALWAYS(hooked_base == segments[me].addr && segments[me].size % GASNETT_PAGESIZE == 0);
	gasnet_nodeinfo_t *info = (gasnet_nodeinfo_t *)malloc(nodes * sizeof *info);
	SAFE(gasnet_getNodeInfo(info, (int)nodes));
	if (gasnett_cpu_count() < (int)on_host && info[me].supernode == info[0].supernode) {
		gasnet_set_waitmode(GASNET_WAIT_BLOCK);
	}
	free(info);
	ALWAYS(GASNETI_MAX_THREADS >= 1 && gasnett_tick_granularityus() > 0 && gasnett_tick_overheadus() >= 0);
	barrier("registered");
#ifdef GASNET_PAR
	pthread_t poller;
	ALWAYS(pthread_create(&poller, NULL, poll_until_quit, NULL) == 0);
#endif
	work();
	if (me == 0) {
		for (gasnet_node_t n = 1; n < nodes; n++) {
			SAFE(gasnet_AMRequestShort0(n, STOP));
		}
	} else {
		GASNET_BLOCKUNTIL(stopped);
	}
	barrier("stop");
#ifdef GASNET_PAR
	quit = 1;
	ALWAYS(pthread_join(poller, NULL) == 0);
#endif
	printf("runtime of rank %d of %d, %s: all are right\n", (int)me, (int)nodes, _STRINGIFY(PLATFORM_COMPILER_FAMILYNAME) " " PLATFORM_COMPILER_VERSION_STR);
	gasnet_exit(0);
	return 0;
}

GASNETT_END_EXTERNC
