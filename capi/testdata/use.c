// Every name of gasnet.h in use, as programs write them, in C and in C++. It is only compiled.

#include <gasnet.h>

#include <string.h>

#if GASNET_PAGESIZE < 4096 || SIZEOF_GASNET_REGISTER_VALUE_T != 8 || GASNET_SPEC_VERSION_MAJOR != 1 || GASNET_SPEC_VERSION_MINOR != 8
#error "constants are for the preprocessor too"
#endif
#if defined(GASNET_SEGMENT_FAST) + defined(GASNET_SEGMENT_LARGE) + defined(GASNET_SEGMENT_EVERYTHING) != 1 || GASNET_ALIGNED_SEGMENTS
#error "one kind of segment"
#endif
#if GASNET_SEQ + 0 != 1 && GASNET_PAR + 0 != 1 && GASNET_PARSYNC + 0 != 1
#error "the thread mode is 1"
#endif
#if !(GASNET_DEBUG + 0) == !(GASNET_NDEBUG + 0) || !GASNET_PSHM || !GASNET_NULL_ARGV_OK
#error "debug or not"
#endif

// gasnet.h alone brings GASNet-EX with it, and programs have this name of their own.
#define GEX_NO_FLAGS 0
gex_Event_t extended(gex_TM_t team, void *to, gex_Rank_t rank, void *from) {
	return gex_RMA_GetNB(team, to, rank, from, 8, GEX_NO_FLAGS);
}

#ifdef __cplusplus
#define HANDLER(f) (void (*)())(f) // C++ has no other conversion
#else
#define HANDLER(f) f
#endif

static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;
static volatile int done;

static void on_short(gasnet_token_t t, gasnet_handlerarg_t a) {
	gasnet_node_t node;
	if (gasnet_AMGetMsgSource(t, &node) == GASNET_OK) {
		done = (int)node + a;
	}
	gasnet_AMReplyShort1(t, 129, a);
}

static void on_medium(gasnet_token_t t, void *buf, size_t nbytes, gasnet_handlerarg_t a, gasnet_handlerarg_t b) {
	gasnet_AMReplyMedium2(t, 130, buf, nbytes, a, b);
	gasnet_AMReplyLong0(t, 131, buf, nbytes, buf);
}

static gasnet_handle_t pass(gasnet_handle_t h) { return h; }

static int never_returns(int code) {
	gasnet_exit(code); // nothing follows, and nobody warns
}

int main(int argc, char **argv) {
	GASNET_BEGIN_FUNCTION();
	gasnet_handlerentry_t table[] = {{200, HANDLER(on_short)}, {0, HANDLER(on_medium)}};
	gasnet_seginfo_t seg;
	gasnet_nodeinfo_t node;
	gasnet_hsl_t own = GASNET_HSL_INITIALIZER;
	char buf[64];
	long wide = argc;
	if (gasnet_init(&argc, &argv) != GASNET_OK || gasnet_attach(table, 2, gasnet_getMaxLocalSegmentSize(), 0) != GASNET_OK) {
		return never_returns(1);
	}
	gasnet_node_t me = gasnet_mynode(), peer = (me + 1) % gasnet_nodes();
	if (gasnet_getSegmentInfo(&seg, 1) || gasnet_getNodeInfo(&node, 1) || gasnet_getMaxGlobalSegmentSize() < seg.size) {
		gasnet_exit(2);
	}
	uintptr_t away = node.offset + node.host + node.supernode;
	void *to = (char *)seg.addr + (away & 8);
	int err = gasnet_AMRequestShort0(peer, 200) + gasnet_AMRequestShort1(peer, 200, wide);
	err += gasnet_AMRequestMedium16(peer, 201, buf, sizeof buf, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, wide);
	err += gasnet_AMRequestLong2(peer, 201, buf, sizeof buf, to, wide, 'x') + gasnet_AMRequestLongAsync1(peer, 201, buf, 0, to, 1u);
	err += gasnet_AMRequestShort(peer, 200, 1, 5) + gasnet_AMRequestMedium(peer, 201, buf, 0, 0);
	if (err) GASNET_BLOCKUNTIL(done && memcmp(buf, "a,b", 3) == 0);
	else gasnet_AMPoll();
	gasnet_hold_interrupts();
	gasnet_resume_interrupts();
	gasnet_hsl_init(&own);
	gasnet_hsl_lock(&own);
	gasnet_hsl_unlock(&own);
	if (gasnet_hsl_trylock(&lock) == GASNET_OK) gasnet_hsl_unlock(&lock);
	gasnet_hsl_destroy(&own);
	gasnet_handle_t handles[2] = {GASNET_INVALID_HANDLE, GASNET_INVALID_HANDLE}, h = handles[0];
	if (h == GASNET_INVALID_HANDLE) gasnet_put(peer, to, buf, 8);
	else gasnet_get(buf, peer, to, 8);
	gasnet_put_bulk(peer, to, "read only", 9);
	gasnet_get_bulk(buf, peer, to, 9);
	gasnet_wait_syncnb(pass(gasnet_put_nb(peer, to, buf, 8)));
	handles[0] = gasnet_put_nb_bulk(peer, to, buf, 8);
	handles[1] = gasnet_get_nb(buf, peer, to, 8);
	if (gasnet_try_syncnb_some(handles, 2) == GASNET_ERR_NOT_READY) gasnet_wait_syncnb_some(handles, 2);
	if (gasnet_try_syncnb_all(handles, 2) != GASNET_OK) gasnet_wait_syncnb_all(handles, 2);
	h = gasnet_get_nb_bulk(buf, peer, to, 8);
	if (gasnet_try_syncnb(h)) gasnet_wait_syncnb(h);
	gasnet_memset(peer, to, 0, 8);
	gasnet_wait_syncnb(gasnet_memset_nb(peer, to, 0, 8));
	gasnet_put_val(peer, to, 5, 4);
	gasnet_wait_syncnb(gasnet_put_nb_val(peer, to, 5, 4));
	gasnet_register_value_t v = gasnet_get_val(peer, to, 4) + gasnet_wait_syncnb_valget(gasnet_get_nb_val(peer, to, 4));
	gasnet_begin_nbi_accessregion();
	gasnet_put_nbi(peer, to, &v, sizeof v);
	gasnet_put_nbi_bulk(peer, to, &v, sizeof v);
	gasnet_get_nbi(buf, peer, to, 8);
	gasnet_get_nbi_bulk(buf, peer, to, 8);
	gasnet_memset_nbi(peer, to, 1, 8);
	gasnet_put_nbi_val(peer, to, v, 8);
	gasnet_wait_syncnb(gasnet_end_nbi_accessregion());
	if (gasnet_try_syncnbi_gets() || gasnet_try_syncnbi_puts() || gasnet_try_syncnbi_all()) {
		gasnet_wait_syncnbi_gets();
		gasnet_wait_syncnbi_puts();
		gasnet_wait_syncnbi_all();
	}
	gasnet_barrier_notify(0xcafef00d, GASNET_BARRIERFLAG_ANONYMOUS | GASNET_BARRIERFLAG_MISMATCH);
	int id = gasnet_barrier_try(0, 0) == GASNET_ERR_BARRIER_MISMATCH ? 0 : gasnet_barrier_wait(0, 0);
	if (gasnet_barrier(1, 0) || gasnet_barrier_result(&id) || gasnet_set_waitmode(GASNET_WAIT_BLOCK)) {
		return gasnet_ErrorName(id)[0] + gasnet_ErrorDesc(id)[0] + GASNET_CONFIG_STRING[0] + GASNET_CONDUIT_NAME_STR[0];
	}
	gasnet_threadinfo_t info = GASNET_GET_THREADINFO();
	return info != GASNETI_NULL || gasnet_getenv("HOME") == GASNETI_NULL || gasnet_AMMaxArgs() < 16 ||
		gasnet_AMMaxMedium() + gasnet_AMMaxLongRequest() + gasnet_AMMaxLongReply() < 512 || gasnet_client_attach_hook == GASNETI_NULL;
}
