// The ways in which a process leaves its job. All come to gasneti_leave, which may be called anywhere, also in a handler
// of a signal: it only wakes a thread that was made for that, and stops the caller.

#include "fast.h"
#include "model.h"
#include "_cgo_export.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// How long the end of a process may take, once it is not orderly: a second for streams whose lock nobody gives back, one
// for a handler of the program's, and the rest for the job.
enum { FLUSH_SECONDS = 1, ANSWER_SECONDS = 1, LEAVE_SECONDS = 10 };

static sem_t leaving;  // the process shall leave
static sem_t left;     // it has, orderly
static sem_t answered; // the program has left
static _Atomic int leave_status = -1; // of the first that has left
static _Atomic int own_end;           // it is the program that has left
static int orderly;                   // the process may wait for the others to leave, serving them

static void *flush(void *done) {
	fflush(NULL);
	sem_post(done);
	return NULL;
}

static int start_thread(void *(*f)(void *), void *arg) {
	pthread_attr_t attr;
	pthread_t id;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	// Signals are for the program's own threads.
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int err = pthread_create(&id, &attr, f, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return err;
}

// Waits for a semaphore, for a time, and reports whether it has come.
static int wait_for(sem_t *sem, double seconds) {
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)seconds;
	until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	while (sem_timedwait(sem, &until) != 0) {
		if (errno != EINTR) {
			return 0;
		}
	}
	return 1;
}

static void flush_streams(void) {
	static sem_t done; // it outlives the call if the time is up
	sem_init(&done, 0, 0);
	if (start_thread(flush, &done) == 0) {
		wait_for(&done, FLUSH_SECONDS);
	}
}

// The handler of SIGQUIT, by which Go prints its stacks, that the library has installed: others are the program's.
static struct sigaction own_quit;

// Lets a handler of the program's know by SIGQUIT that others have ended the job (GASNet 1.8, gasnet_exit), and gives it
// some time to call gasnet_exit.
static void tell_end(void) {
	struct sigaction a;
	if (sigaction(SIGQUIT, NULL, &a) == 0 && a.sa_handler != SIG_DFL && a.sa_handler != SIG_IGN && a.sa_handler != own_quit.sa_handler) {
		kill(getpid(), SIGQUIT);
		wait_for(&answered, ANSWER_SECONDS);
	}
}

void gasneti_keep_quit(const struct sigaction *before) {
	sigaction(SIGQUIT, NULL, &own_quit);
	if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) {
		sigaction(SIGQUIT, before, NULL);
	}
}

void gasneti_end_process(void) {
	if (!own_end && gasneti_stage != GASNETI_FRESH) {
		tell_end();
	}
	flush_streams();
}

static void *leave_orderly(void *arg) {
	(void)arg;
	aqLeave();
	sem_post(&left);
	return NULL;
}

static void *leave_now(void *arg) {
	(void)arg;
	aqExit(leave_status);
	return NULL;
}

// Has the rank leave with all others, serving them meanwhile, and reports whether that was done in time.
static int left_orderly(void) { return start_thread(leave_orderly, NULL) == 0 && wait_for(&left, gasneti_exit_timeout()); }

// Ends the process, if the job does not end it before.
static void *leaver(void *arg) {
	(void)arg;
	while (sem_wait(&leaving) != 0) {
	}
	if (orderly && left_orderly()) {
		flush_streams();
		_exit(leave_status);
	}
	if (start_thread(leave_now, NULL) == 0) {
		sleep(LEAVE_SECONDS); // the Go runtime may depend on the thread that was stopped
	}
	_exit(leave_status);
}

// seconds reads a time of the environment, of which NULL, or what is no time, stands for otherwise.
static double seconds(const char *name, double otherwise) {
	const char *text = getenv(name);
	char *end;
	double value = text == NULL ? -1 : strtod(text, &end);
	return text == NULL || end == text || *end != 0 || !(value >= 0) || value > GASNETI_LONGEST_TIME ? otherwise : value;
}

double gasneti_exit_timeout(void) {
	if (gasneti_model_socket >= 0) {
		return GASNETI_LONGEST_TIME; // in virtual time nobody is late
	}
	double most = seconds("GASNET_EXITTIMEOUT_MAX", 20), least = seconds("GASNET_EXITTIMEOUT_MIN", 2);
	double time = least + seconds("GASNET_EXITTIMEOUT_FACTOR", 0.25) * gasneti_job.size;
	return seconds("GASNET_EXITTIMEOUT", time < most ? time : most);
}

// The first status counts.
static _Noreturn void leave(int status, int wait_for_others) {
	int none = -1;
	status = status >= 0 && status <= 255 ? status : (status & 255) != 0 ? status & 255 : 1;
	if (atomic_compare_exchange_strong(&leave_status, &none, status)) {
		orderly = wait_for_others;
		sem_post(&leaving);
	}
	for (;;) {
		pause();
	}
}

void gasneti_leave(int status) {
	// Who leaves without a failure waits for the others, as long as their messages can be served: while no thread is in
	// the middle of a call by the context for that.
	struct gasneti_thread *main_thread = gasneti_main_thread;
	int idle = gasneti_thread.inside == 0 && (main_thread == NULL || main_thread->inside == 0);
	own_end = 1;
	sem_post(&answered);
	leave(status, status == 0 && idle);
}

void gasneti_end(int status) { leave(status, 0); }

// The status that exit was called with, or main has returned, where the C library tells it: glibc does, musl does not.
extern int on_exit(void (*f)(int, void *), void *arg) __attribute__((weak));
static int exit_status;

static void note_exit(int status, void *arg) {
	(void)arg;
	exit_status = status;
}

// A child of a rank is none: it has no thread of the library's. It may execute another program, or end.
static void in_child(void) {
	gasneti_stage = GASNETI_FORKED;
	if (gasneti_model_socket >= 0) {
		close(gasneti_model_socket); // the rank's end is to be seen
	}
	gasneti_window_count = 0;
	gasneti_fast_end();
}

// Exit functions run in the reverse order of their registration, and destructors after them: so those of the program can
// use the library, whenever they were registered.
__attribute__((destructor)) static void leave_at_exit(void) {
	if (gasneti_stage == GASNETI_FRESH || gasneti_stage == GASNETI_FORKED) {
		return;
	}
	if (on_exit != NULL) {
		gasneti_leave(exit_status);
	}
	left_orderly(); // and then the process ends with a status that only the C library knows
}

void gasneti_prepare_leave(void) {
	sem_init(&leaving, 0, 0);
	sem_init(&left, 0, 0);
	sem_init(&answered, 0, 0);
	if (start_thread(leaver, NULL) != 0) {
		perror("aqueduct: gasnet_init: a thread to leave the job by");
		exit(1);
	}
	if (on_exit != NULL) {
		on_exit(note_exit, NULL);
	}
	pthread_atfork(NULL, NULL, in_child);
}

void gasnet_exit(int exitcode) {
	switch (gasneti_stage) {
	case GASNETI_FRESH:
		exit(exitcode);
	case GASNETI_FORKED:
		_exit(exitcode);
	default:
		gasneti_leave(exitcode);
	}
}

void gasneti_misuse(const char *call, const char *why) {
	if (gasneti_stage == GASNETI_FRESH || gasneti_stage == GASNETI_FORKED) {
		fprintf(stderr, "aqueduct: %s: %s\n", call, why);
		abort();
	}
	aqMisuse((char *)call, (char *)why);
	abort(); // not reached
}
