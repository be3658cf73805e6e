// Checks of handler-safe locks and of sections without interrupts, for programs that are compiled for debugging. What a thread
// holds is known of itself.

#include "internal.h"

#include <stdio.h>

// A lock's state, beside the initialiser's. What has not been initialised may hold anything else.
enum { READY = GASNETI_HSL_READY, DESTROYED = 0x48534C2D };

static struct gasneti_held *held(void) { return &gasneti_thread.held; }

static void restrict_thread(void) {
	gasneti_thread.restricted &= ~GASNETI_HOLDS;
	gasneti_thread.restricted |= held()->depth > 0 || held()->section ? GASNETI_HOLDS : 0;
}

// Reports a call while the thread has prepared a message, holds a lock, is in a section without interrupts, or runs a handler or an operator.
void gasneti_restricted(const char *call) {
	if (gasneti_thread.restricted & GASNETI_COMPUTES) {
		gasneti_misuse(call, "called by an operator of a collective, where handlers run; it may only compute");
	}
	if (gasneti_thread.restricted & GASNETI_PREPARED) {
		gasneti_misuse(call, "the thread has prepared a message; commit it first");
	}
	if (gasneti_thread.token.fast && !gasneti_thread.restricted) {
		static const char *const kinds[] = {"short", "medium", "long"};
		uint32_t header = gasneti_thread.token.header;
		char why[100];
		snprintf(why, sizeof why, "called from the handler of a %s %s; a handler may only reply", kinds[gasneti_header_kind(header) % 3], gasneti_header_reply(header) ? "reply" : "request");
		gasneti_misuse(call, why);
	}
	gasneti_misuse(call, held()->depth > 0 ? "called while holding a handler-safe lock; release it first"
										   : "called in a section without interrupts; end it by gasnet_resume_interrupts first");
}

void gasneti_left_restricted(void) {
	gasneti_misuse("a handler", gasneti_thread.restricted & GASNETI_HOLDS ? "returned while holding a handler-safe lock"
																		  : "returned without committing the reply that it has prepared");
}

static int position(const void *lock) {
	for (int i = 0; i < held()->depth; i++) {
		if (held()->locks[i] == lock) {
			return i;
		}
	}
	return -1;
}

static void need_ready(const char *call, const int *state) {
	if (*state != READY) {
		gasneti_misuse(call, *state == DESTROYED ? "the lock was destroyed" : "the lock was not initialised");
	}
}

void gasneti_hsl_checked_init(int *state) {
	if (*state == READY) {
		gasneti_misuse("gasnet_hsl_init", "the lock was initialised before");
	}
	*state = READY;
}

void gasneti_hsl_checked_destroy(const void *lock, int *state) {
	const char *call = "gasnet_hsl_destroy";
	need_ready(call, state);
	if (position(lock) >= 0) {
		gasneti_misuse(call, "the lock is held");
	}
	*state = DESTROYED;
}

void gasneti_hsl_checked_lock(const char *call, const void *lock, const int *state) {
	need_ready(call, state);
	if (position(lock) >= 0) {
		gasneti_misuse(call, "the thread holds the lock already");
	}
	if (held()->depth == GASNETI_MAX_HELD) {
		gasneti_misuse(call, "the thread holds too many locks");
	}
}

void gasneti_hsl_checked_took(const void *lock) {
	held()->locks[held()->depth++] = lock;
	restrict_thread();
}

void gasneti_hsl_checked_unlock(const void *lock, const int *state) {
	const char *call = "gasnet_hsl_unlock";
	need_ready(call, state);
	int at = position(lock);
	if (at != held()->depth - 1 || at < 0) {
		gasneti_misuse(call, at < 0 ? "the thread does not hold the lock" : "locks are released in reverse order of acquisition");
	}
	held()->depth--;
	restrict_thread();
}

// In a handler, and while a lock is held, a section is nothing (GASNet 1.8, "No-Interrupt Sections").
void gasneti_checked_hold(void) {
	if (gasneti_thread.token.live || held()->depth > 0) {
		return;
	}
	if (held()->section) {
		gasneti_misuse("gasnet_hold_interrupts", "called in a section without interrupts; sections do not nest");
	}
	held()->section = 1;
	restrict_thread();
}

void gasneti_checked_resume(void) {
	if (gasneti_thread.token.live || held()->depth > 0) {
		return;
	}
	if (!held()->section) {
		gasneti_misuse("gasnet_resume_interrupts", "no section without interrupts was begun");
	}
	held()->section = 0;
	restrict_thread();
}
