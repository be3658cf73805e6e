// What a process does when something is wrong: messages, traces of the stack, and waiting for a debugger.

#include "include/gasnet_tools.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

// Programs may define this themselves.
__attribute__((weak)) gasnett_backtrace_type_t gasnett_backtrace_user;

// The C library's own, where it has one.
extern int backtrace(void **frames, int n) __attribute__((weak));
extern void backtrace_symbols_fd(void *const *frames, int n, int fd) __attribute__((weak));

// Reports whether GASNET_BACKTRACE_TYPE, a list of names separated by commas, allows traces of that kind; all, if it is empty.
static int allowed(const char *kind) {
	const char *list = gasnett_getenv("GASNET_BACKTRACE_TYPE");
	if (list == NULL || *list == 0) {
		return 1;
	}
	size_t n = strlen(kind);
	for (const char *at = list;; at++) {
		if (strncasecmp(at, kind, n) == 0 && (at[n] == ',' || at[n] == 0)) {
			return 1;
		}
		if ((at = strchr(at, ',')) == NULL) {
			return 0;
		}
	}
}

int gasnett_print_backtrace(int fd) {
	enum { DEPTH = 128 };
	void *frames[DEPTH];
	const gasnett_backtrace_type_t *user = &gasnett_backtrace_user;
	if (user->fnp != NULL && (user->name == NULL || allowed(user->name)) && user->fnp(fd) == 0) {
		return 0;
	}
	if (!allowed("EXECINFO") || backtrace == NULL || backtrace_symbols_fd == NULL) {
		return 1;
	}
	backtrace_symbols_fd(frames, backtrace(frames, DEPTH), fd);
	return 0;
}

static int print_if_enabled(int fd) {
	return gasnett_getenv_yesno_withdefault("GASNET_BACKTRACE", 0) ? gasnett_print_backtrace(fd) : 1;
}

int (*gasnett_print_backtrace_ifenabled)(int fd) = print_if_enabled;

void gasnett_backtrace_init(const char *exename) { (void)exename; } // traces name the program by themselves

void gasnett_freezeForDebuggerNow(volatile int *flag, const char *name) {
	*flag = 0;
	fprintf(stderr, "Process frozen for debugger: host=%s pid=%d. To unfreeze, attach a debugger and set '%s' to 1.\n", gasnett_gethostname(), (int)getpid(), name);
	fflush(stderr);
	while (!*flag) {
		const struct timespec second = {1, 0};
		nanosleep(&second, NULL);
	}
}

static volatile int gasnet_frozen;

void gasneti_freeze_if(const char *variable) {
	if (gasnett_getenv_yesno_withdefault(variable, 0)) {
		gasnett_freezeForDebuggerNow(&gasnet_frozen, "gasnet_frozen");
	}
}

void gasnett_freezeForDebuggerErr(void) { gasneti_freeze_if("GASNET_FREEZE_ON_ERROR"); }

void gasnett_fatalerror(const char *fmt, ...) {
	char text[1024]; // one write, so that the messages of ranks do not mix
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	fflush(stdout);
	fprintf(stderr, "*** FATAL ERROR: %s\n", text);
	fflush(stderr);
	static volatile int failing; // what follows reads the environment, which may be what is wrong
	if (!failing) {
		failing = 1;
		print_if_enabled(STDERR_FILENO);
		gasnett_freezeForDebuggerErr();
	}
	signal(SIGABRT, SIG_DFL);
	abort();
}

const char *gasnett_performance_warning_str(void) { return ""; }
