// Threads that use GASNet-EX's interface at the same time, each with messages, implicit operations and atomics of its own (PAR). An event
// of one is synchronised by another.

#include "check.h"

#include <gasnetex.h>
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 100, PING = 128, PONG };

static gex_TM_t world;
static gex_Rank_t me, ranks;
static gex_AD_t counters;
static int answers[THREADS];
static gex_Event_t left_over[THREADS];
static uint64_t words[THREADS];

static void on_ping(gex_Token_t t, void *buf, size_t nbytes, int thread) {
	gex_Token_Info_t info;
	CHECK(gex_Token_Info(t, &info, GEX_TI_ALL) == GEX_TI_ALL && info.gex_is_req && nbytes == 64);
	gex_AM_SrcDesc_t sd = gex_AM_PrepareReplyMedium(t, NULL, nbytes, nbytes, NULL, 0, 1);
	memcpy(gex_AM_SrcDescAddr(sd), buf, nbytes);
	gex_AM_CommitReplyMedium1(sd, PONG, nbytes, thread);
}

static void on_pong(gex_Token_t t, void *buf, size_t nbytes, int thread) {
	(void)t;
	for (size_t i = 0; i < nbytes; i++) {
		CHECK(((unsigned char *)buf)[i] == 'a' + thread);
	}
	__atomic_add_fetch(&answers[thread], 1, __ATOMIC_RELEASE);
}

static uint64_t *place(gex_Rank_t rank, gex_Rank_t from, int thread) {
	void *addr;
	CHECK(gex_Segment_QueryBound(world, rank, &addr, NULL, NULL) == 0);
	return (uint64_t *)addr + 1 + from * THREADS + thread;
}

static void *work(void *arg) {
	int thread = (int)(intptr_t)arg;
	gex_Rank_t peer = (me + (gex_Rank_t)thread) % ranks;
	for (int i = 0; i < ROUNDS; i++) {
		gex_AM_SrcDesc_t sd = gex_AM_PrepareRequestMedium(world, peer, NULL, 64, 64, NULL, 0, 1);
		memset(gex_AM_SrcDescAddr(sd), 'a' + thread, 64);
		gex_AM_CommitRequestMedium1(sd, PING, 64, thread);
		uint64_t v = (uint64_t)i, got = 0, was = 0;
		gex_RMA_PutNBI(world, peer, place(peer, me, thread), &v, sizeof v, GEX_EVENT_NOW, 0);
		gex_NBI_Wait(GEX_EC_PUT, 0);
		gex_RMA_GetNBI(world, &got, peer, place(peer, me, thread), sizeof got, 0);
		gex_NBI_Wait(GEX_EC_GET, 0);
		CHECK(got == v);
		gex_Event_Wait(gex_AD_OpNB_U64(counters, &was, 0, place(0, 0, 0) - 1, GEX_OP_FADD, 1, 0, 0));
	}
	GASNET_BLOCKUNTIL(__atomic_load_n(&answers[thread], __ATOMIC_ACQUIRE) >= ROUNDS);
	words[thread] = 1000 + (uint64_t)thread;
	left_over[thread] = gex_RMA_PutNB(world, peer, place(peer, me, thread), &words[thread], 8, GEX_EVENT_DEFER, 0);
	return NULL;
}

int main(int argc, char **argv) {
	gex_Client_t client;
	gex_EP_t ep;
	gex_Segment_t segment;
	OK(gex_Client_Init(&client, &ep, &world, "threads", &argc, &argv, 0));
	gex_AM_Entry_t table[] = {
		{PING, (gex_AM_Fn_t)on_ping, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REQUEST, 1, NULL, "ping"},
		{PONG, (gex_AM_Fn_t)on_pong, GEX_FLAG_AM_MEDIUM | GEX_FLAG_AM_REPLY, 1, NULL, "pong"},
	};
	OK(gex_EP_RegisterHandlers(ep, table, 2));
	OK(gex_Segment_Attach(&segment, world, 4 * GASNET_PAGESIZE));
	me = gex_TM_QueryRank(world);
	ranks = gex_TM_QuerySize(world);
	*(place(me, 0, 0) - 1) = 0;
	gex_AD_Create(&counters, world, GEX_DT_U64, GEX_OP_FADD | GEX_OP_GET, 0);
	gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
	pthread_t threads[THREADS];
	for (intptr_t i = 0; i < THREADS; i++) {
		CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
	}
	gex_Event_WaitAll(left_over, THREADS, 0);
	for (int i = 0; i < THREADS; i++) {
		gex_Rank_t peer = (me + (gex_Rank_t)i) % ranks;
		CHECK(gex_RMA_GetBlockingVal(world, peer, place(peer, me, i), 8, 0) == 1000 + (uint64_t)i);
	}
	gex_Event_Wait(gex_Coll_BarrierNB(world, 0));
	uint64_t count = 0;
	gex_Event_Wait(gex_AD_OpNB_U64(counters, &count, 0, place(0, 0, 0) - 1, GEX_OP_GET, 0, 0, 0));
	CHECK(count == (uint64_t)ranks * THREADS * ROUNDS);
	gex_AD_Destroy(counters);
	printf("threads of rank %d are right\n", (int)me);
	gasnet_exit(0);
}
