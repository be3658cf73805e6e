// What a program may not do. The argument says what; rank 0 does it.

#include "check.h"

enum { HANDLER = 200 };

static char bytes[64];

static void on_request(gasnet_token_t t) {
	OK(gasnet_AMReplyShort0(t, HANDLER));
	CHECK(gasnet_AMReplyShort0(t, HANDLER) == GASNET_ERR_BAD_ARG); // a second one
}

static void on_wrong(gasnet_token_t t) {
	(void)t;
	gasnet_barrier_notify(0, 0); // a handler may only reply
}

static int handlers(int first, int second) {
	gasnet_handlerentry_t table[] = {{(gasnet_handler_t)first, on_request}, {(gasnet_handler_t)second, on_request}};
	return gasnet_attach(table, 2, GASNET_PAGESIZE, 0);
}

// What has an error code.
static void codes(void) {
	CHECK(gasnet_init(NULL, NULL) == GASNET_ERR_NOT_INIT);
	CHECK(gasnet_getSegmentInfo(NULL, 0) == GASNET_ERR_NOT_INIT);
	CHECK(handlers(127, 0) == GASNET_ERR_RESOURCE);
	CHECK(handlers(HANDLER, HANDLER) == GASNET_ERR_RESOURCE);
	CHECK(gasnet_attach(NULL, 1, GASNET_PAGESIZE, 0) == GASNET_ERR_BAD_ARG);
	CHECK(gasnet_attach(NULL, -1, GASNET_PAGESIZE, 0) == GASNET_ERR_BAD_ARG);
	CHECK(gasnet_attach(NULL, 0, GASNET_PAGESIZE + 1, 0) == GASNET_ERR_BAD_ARG);
	CHECK(gasnet_attach(NULL, 0, gasnet_getMaxLocalSegmentSize() + GASNET_PAGESIZE, 0) == GASNET_ERR_BAD_ARG);
	CHECK(gasnet_attach(NULL, 0, (uintptr_t)-GASNET_PAGESIZE, 0) == GASNET_ERR_BAD_ARG);
	gasnet_handlerentry_t table[] = {{0, on_request}, {128, on_wrong}, {0, on_request}, {130, on_request}, {0, on_request}, {HANDLER, on_request}};
	OK(gasnet_attach(table, 6, GASNET_PAGESIZE, 0));
	CHECK(table[0].index == 129 && table[2].index == 131 && table[4].index == 132); // the lowest that are free
	CHECK(gasnet_attach(table, 6, GASNET_PAGESIZE, 0) == GASNET_ERR_NOT_INIT);
	CHECK(gasnet_AMRequestShort0(gasnet_nodes(), HANDLER) == GASNET_ERR_BAD_ARG);
	CHECK(gasnet_AMRequestMedium0(0, HANDLER, bytes, gasnet_AMMaxMedium() + 1) == GASNET_ERR_BAD_ARG);
	CHECK(gasnet_AMRequestMedium0(0, HANDLER, NULL, 1) == GASNET_ERR_BAD_ARG);
	CHECK(gasnet_AMRequestMedium0(0, HANDLER, bytes, (size_t)-1) == GASNET_ERR_BAD_ARG);
	CHECK(gasnet_AMRequestLong0(0, HANDLER, bytes, 1, bytes) == GASNET_ERR_BAD_ARG); // not in the segment
	CHECK(gasnet_AMGetMsgSource(NULL, NULL) == GASNET_ERR_BAD_ARG);
	CHECK(gasnet_AMReplyShort0(NULL, HANDLER) == GASNET_ERR_BAD_ARG);
	CHECK(gasnet_set_waitmode(7) == GASNET_ERR_BAD_ARG);
	gasnet_seginfo_t seg[2];
	seg[1].size = 5;
	CHECK(gasnet_getSegmentInfo(seg, -1) == GASNET_ERR_BAD_ARG);
	OK(gasnet_getSegmentInfo(seg, 2));
	CHECK(gasnet_nodes() > 1 || seg[1].size == 5);
	CHECK(gasnet_AMRequestLong0(0, HANDLER, bytes, 8, (char *)seg[0].addr + seg[0].size - 7) == GASNET_ERR_BAD_ARG); // it leaves the segment
	CHECK(strcmp(gasnet_ErrorName(GASNET_ERR_BAD_ARG), "GASNET_ERR_BAD_ARG") == 0 && gasnet_ErrorName(-5) != NULL && gasnet_ErrorDesc(-5) != NULL);
}

int main(int argc, char **argv) {
	const char *what = argv[1];
	if (strcmp(what, "before init") == 0) {
		gasnet_AMPoll();
	}
	OK(gasnet_init(&argc, &argv));
	if (strcmp(what, "before attach") == 0) {
		gasnet_put(0, bytes, bytes, 1);
	}
	if (strcmp(what, "limit") == 0) {
		CHECK(gasnet_getMaxLocalSegmentSize() == 256 << 10 && gasnet_getMaxGlobalSegmentSize() == 256 << 10);
	}
	codes();
	gasnet_seginfo_t *segments = calloc(gasnet_nodes(), sizeof *segments);
	OK(gasnet_getSegmentInfo(segments, (int)gasnet_nodes()));
	char *to = segments[0].addr;
	if (gasnet_mynode() == 0) {
		if (strcmp(what, "outside") == 0) {
			gasnet_put(0, to + segments[0].size - 7, bytes, 8);
		} else if (strcmp(what, "rank") == 0) {
			gasnet_get(bytes, 77, to, 8);
		} else if (strcmp(what, "null") == 0) {
			gasnet_put(0, to, NULL, 8);
		} else if (strcmp(what, "value") == 0) {
			gasnet_put_val(0, to, 1, 9);
		} else if (strcmp(what, "handle") == 0) {
			gasnet_wait_syncnb((gasnet_handle_t)(uintptr_t)0x1234567);
		} else if (strcmp(what, "handles") == 0) {
			gasnet_wait_syncnb_all(NULL, 0); // none are waited for
			gasnet_try_syncnb_some(NULL, 2);
		} else if (strcmp(what, "barrier") == 0) {
			gasnet_barrier_wait(0, 0);
		} else if (strcmp(what, "region") == 0) {
			gasnet_handle_t h = gasnet_end_nbi_accessregion();
			gasnet_wait_syncnb(h);
		} else if (strcmp(what, "handler") == 0) {
			OK(gasnet_AMRequestShort0(0, 128));
			gasnet_AMPoll();
			gasnet_AMPoll();
		} else if (strcmp(what, "unregistered") == 0) {
			OK(gasnet_AMRequestShort0(0, 255));
			gasnet_AMPoll();
			gasnet_AMPoll();
		}
	}
	BARRIER();
	printf("codes of rank %d are right\n", (int)gasnet_mynode());
	return 0;
}
