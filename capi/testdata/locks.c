// What a program may not do with handler-safe locks and sections without interrupts, which debugging finds. The argument
// says what.

#include "check.h"

enum { KEEP = 128, REPLY, LEGAL, DONE };

static gasnet_hsl_t one = GASNET_HSL_INITIALIZER, two = GASNET_HSL_INITIALIZER;
static volatile int legal;

static void on_keep(gasnet_token_t t) {
	(void)t;
	gasnet_hsl_lock(&one);
}

static void on_reply(gasnet_token_t t) {
	gasnet_hsl_lock(&one);
	OK(gasnet_AMReplyShort0(t, DONE));
}

static void on_legal(gasnet_token_t t) {
	gasnet_hold_interrupts(); // nothing, in a handler
	gasnet_hsl_lock(&one);
	gasnet_hsl_lock(&two);
	gasnet_hsl_unlock(&two);
	gasnet_hsl_unlock(&one);
	gasnet_resume_interrupts();
	OK(gasnet_AMReplyShort0(t, DONE));
}

static void on_done(gasnet_token_t t) {
	(void)t;
	legal = 1;
}

static void send(int handler) {
	OK(gasnet_AMRequestShort0(gasnet_mynode(), (gasnet_handler_t)handler));
	GASNET_BLOCKUNTIL(legal);
}

static void misuse(const char *what) {
	gasnet_hsl_t own;
	memset(&own, 0x5A, sizeof own); // what a stack may hold
	if (strcmp(what, "section twice") == 0) {
		gasnet_hold_interrupts();
		gasnet_hold_interrupts();
	} else if (strcmp(what, "no section") == 0) {
		gasnet_resume_interrupts();
	} else if (strcmp(what, "init twice") == 0) {
		gasnet_hsl_init(&one);
	} else if (strcmp(what, "destroy twice") == 0) {
		gasnet_hsl_destroy(&one);
		gasnet_hsl_destroy(&one);
	} else if (strcmp(what, "destroy held") == 0) {
		gasnet_hsl_lock(&one);
		gasnet_hsl_destroy(&one);
	} else if (strcmp(what, "no init") == 0) {
		gasnet_hsl_lock(&own);
	} else if (strcmp(what, "not held") == 0) {
		gasnet_hsl_unlock(&one);
	} else if (strcmp(what, "order") == 0) {
		gasnet_hsl_lock(&one);
		gasnet_hsl_lock(&two);
		gasnet_hsl_unlock(&one);
	} else if (strcmp(what, "lock twice") == 0) {
		gasnet_hsl_lock(&one);
		gasnet_hsl_lock(&one);
	} else if (strcmp(what, "try twice") == 0) {
		OK(gasnet_hsl_trylock(&one));
		gasnet_hsl_trylock(&one);
	} else if (strcmp(what, "poll held") == 0) {
		gasnet_hsl_lock(&one);
		gasnet_AMPoll();
	} else if (strcmp(what, "poll in section") == 0) {
		gasnet_hold_interrupts();
		gasnet_AMPoll();
	} else if (strcmp(what, "request held") == 0) {
		gasnet_hsl_lock(&one);
		send(LEGAL);
	} else if (strcmp(what, "kept") == 0) {
		send(KEEP);
	} else if (strcmp(what, "reply held") == 0) {
		send(REPLY);
	}
	gasnet_hsl_init(&own);
	gasnet_hsl_lock(&own);
	gasnet_hold_interrupts(); // nothing, with a lock
	gasnet_resume_interrupts();
	gasnet_hsl_unlock(&own);
	gasnet_hold_interrupts();
	gasnet_hsl_lock(&one);
	gasnet_hsl_unlock(&one);
	gasnet_resume_interrupts();
	gasnet_hsl_destroy(&own);
	send(LEGAL);
}

int main(int argc, char **argv) {
	OK(gasnet_init(&argc, &argv));
	gasnet_handlerentry_t table[] = {{KEEP, on_keep}, {REPLY, on_reply}, {LEGAL, on_legal}, {DONE, on_done}};
	OK(gasnet_attach(table, 4, GASNET_PAGESIZE, 0));
	misuse(argv[1]);
	BARRIER();
	printf("locks of rank %d are well\n", (int)gasnet_mynode());
	return 0;
}
