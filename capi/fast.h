// The fast path: where Go shares its state (core.Foreign), requests, replies and polls of C programs are done in C, on the
// same rings. Whatever is not understood here stays as it is, and goes to Go.

#ifndef GASNETI_FAST_H
#define GASNETI_FAST_H

#include "internal.h"
#include "layout.h"

// A message on its way out, in the terms of the program.
struct gasneti_message {
	enum gasneti_kind kind;
	gasnet_handler_t handler;
	const void *src;
	size_t nbytes;
	void *to; // of a Long
	int nargs;
	const gasnet_handlerarg_t *args;
	bool immediate; // a request does not wait for room
};

// What an immediate request returns that finds no room, as gex_AM_Request… does.
enum { GASNETI_NO_ROOM = 1 };

// Sends a request, waiting a little for room, and polls now and then. It reports false if that is Go's to do, and nothing
// was sent; else *result is what the call returns.
bool gasneti_fast_request(gasnet_node_t dest, const struct gasneti_message *m, int *result);

// Reports whether messages are sent and taken in C, as far as that is possible.
bool gasneti_fast_on(void);

// Answers the request whose handler runs, which the fast path has called, and returns what the call returns.
int gasneti_fast_reply(const struct gasneti_message *m);

// Polls once. It reports false if that is Go's to do, or also Go's.
bool gasneti_fast_poll(void);

// Begins a wait, and reports whether its first polls may be in C.
bool gasneti_fast_wait(void);

// Polls for a while, until something has happened since gasneti_fast_wait or the last call, and reports whether it has.
bool gasneti_fast_spin(void);

// Begins a call of the only thread that has called the library, to be done in C, and reports whether it may be. gasneti_fast_leave_alone
// ends it.
bool gasneti_fast_enter_alone(void);
void gasneti_fast_leave_alone(void);

// Polls once in such a call, and reports whether that is also Go's to do.
bool gasneti_fast_poll_alone(void);

// How many polls in C a wait makes before Go takes over.
int gasneti_fast_spins(void);

// Sends a request of the library's own, in such a call or in a handler that the fast path has called, and reports whether there was room.
bool gasneti_fast_try(gasnet_node_t dest, const struct gasneti_message *m);

// Ends the fast path, in a process that is not in the job.
void gasneti_fast_end(void);

// Ends what a thread was at that was cancelled in a handler.
void gasneti_fast_abandon(void);

#endif
