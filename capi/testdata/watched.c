// Each rank sends as many Shorts and Mediums as the enumeration says to the next one, which replies to each.

#include "check.h"

enum { SHORT = 200, MEDIUM, ANSWER, SHORTS = 30, MEDIUMS = 20, BYTES = 100 };

static volatile int answers, seen;

static void on_short(gasnet_token_t t) {
	seen++;
	OK(gasnet_AMReplyShort0(t, ANSWER));
}

static void on_medium(gasnet_token_t t, void *buf, size_t n) {
	CHECK(n == BYTES && ((char *)buf)[n - 1] == 'x');
	on_short(t);
}

static void on_answer(gasnet_token_t t) {
	(void)t;
	answers++;
}

int main(int argc, char **argv) {
	gasnet_handlerentry_t table[] = {{SHORT, on_short}, {MEDIUM, on_medium}, {ANSWER, on_answer}};
	OK(gasnet_init(&argc, &argv));
	OK(gasnet_attach(table, sizeof table / sizeof *table, GASNET_PAGESIZE, 0));
	gasnet_node_t next = (gasnet_mynode() + 1) % gasnet_nodes();
	char data[BYTES];
	memset(data, 'x', sizeof data);
	BARRIER();
	for (int i = 0; i < SHORTS; i++) {
		OK(gasnet_AMRequestShort0(next, SHORT));
	}
	for (int i = 0; i < MEDIUMS; i++) {
		OK(gasnet_AMRequestMedium0(next, MEDIUM, data, sizeof data));
	}
	GASNET_BLOCKUNTIL(answers >= SHORTS + MEDIUMS && seen >= SHORTS + MEDIUMS);
	BARRIER();
	gasnet_exit(0);
}
