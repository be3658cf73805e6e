// The start of the Go runtime. An ordinary archive starts it by a constructor, when the program is loaded: before the
// program may have set its environment, never if a constructor of the program's waits for it, and with
// arguments that not every C library hands to constructors. The build of this library has renamed the section that
// lists the runtime's entry, so that it is called here, by gasnet_init.

#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

// The runtime's entry takes what a constructor is given. It reads the arguments, the environment behind them and the
// auxiliary vector behind that, for which it goes to /proc if it finds none. The linker bounds the section; a program that is
// no C library, as go vet makes it, has none.
typedef void entry_fn(int, char **, char **);
extern entry_fn *const __start_aqueduct_runtime[] __attribute__((weak, visibility("hidden")));
extern entry_fn *const __stop_aqueduct_runtime[] __attribute__((weak, visibility("hidden")));

// command_line returns the program's arguments as the kernel has them, and how many: memory that is kept.
static char **command_line(int *argc) {
	static char *unknown[] = {"program", NULL};
	char *text = NULL;
	size_t len = 0, room = 0;
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : 1;
	while (n > 0) {
		if (room - len < 4096 && (text = realloc(text, room += 65536)) == NULL) {
			abort();
		}
		do {
			n = read(fd, text + len, room - len - 1);
		} while (n < 0 && errno == EINTR);
		len += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0) {
		close(fd);
	}
	if (len == 0) {
		*argc = 1;
		return unknown;
	}
	text[len] = 0;
	int count = 0;
	for (size_t i = 0; i < len; i += strlen(text + i) + 1) {
		count++;
	}
	char **argv = calloc((size_t)count + 1, sizeof *argv);
	if (argv == NULL) {
		abort();
	}
	count = 0;
	for (size_t i = 0; i < len; i += strlen(text + i) + 1) {
		argv[count++] = text + i;
	}
	*argc = count;
	return argv;
}

void gasneti_start_runtime(int argc, char **argv) {
	if (argv == NULL || argc < 1) {
		argv = command_line(&argc);
	}
	size_t vars = 0;
	while (environ != NULL && environ[vars] != NULL) {
		vars++;
	}
	// Arguments, NULL, environment, NULL, and an auxiliary vector that says it is at its end: two words of 0.
	char **v = calloc((size_t)argc + vars + 4, sizeof *v);
	if (v == NULL) {
		abort();
	}
	memcpy(v, argv, (size_t)argc * sizeof *v);
	if (vars > 0) {
		memcpy(v + argc + 1, environ, vars * sizeof *v);
	}
	// Threads of the runtime's inherit that signals are blocked, and so leave them to the program's own.
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (entry_fn *const *f = __start_aqueduct_runtime; f < __stop_aqueduct_runtime; f++) {
		(*f)(argc, v, v + argc + 1);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
