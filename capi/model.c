// Ranks in virtual time. The launcher starts one process for all ranks of a modelled job, since those of a program in Go are
// coroutines there. Variables of C would be all ranks' then. So this process makes copies of itself in gasnet_init, one for each rank, and
// drives the model itself: a rank runs while the model waits for it, and waits while others run.

#include "internal.h"
#include "model.h"
#include "include/aqueduct.h"
#include "_cgo_export.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

int gasneti_model_socket = -1;

enum { MAX_RANKS = 65536, SPARE_FILES = 64 };

// Returns how many ranks the environment wants a model to have; 0 if it wants no model, or what only Go can explain.
static int wanted(void) {
	const char *mode = getenv("AQUEDUCT_MODE"), *ranks = getenv("AQUEDUCT_RANKS");
	if (mode == NULL || strcmp(mode, "model") != 0) {
		return 0;
	}
	if (ranks == NULL || *ranks == 0) {
		return 1;
	}
	char *end;
	long n = strtol(ranks, &end, 10);
	return *end == 0 && n >= 1 && n <= MAX_RANKS ? (int)n : 0;
}

// Returns how many threads the process has.
static int threads(void) {
	int n = 0;
	DIR *tasks = opendir("/proc/self/task");
	if (tasks == NULL) {
		return 1;
	}
	for (struct dirent *e; (e = readdir(tasks)) != NULL;) {
		n += e->d_name[0] != '.';
	}
	closedir(tasks);
	return n;
}

// Has the program's handlers of signals not run in the model's process, as in a program that is executed.
static void forget_handlers(void) {
	for (int sig = 1; sig < NSIG; sig++) {
		struct sigaction a;
		if (sigaction(sig, NULL, &a) == 0 && a.sa_handler != SIG_DFL && a.sa_handler != SIG_IGN) {
			a = (struct sigaction){.sa_handler = SIG_DFL};
			sigaction(sig, &a, NULL);
		}
	}
}

// Makes room for a descriptor of each rank.
static void allow_files(int n, struct rlimit *before) {
	getrlimit(RLIMIT_NOFILE, before);
	struct rlimit more = *before;
	more.rlim_cur = more.rlim_max != RLIM_INFINITY && more.rlim_max < (rlim_t)n + SPARE_FILES ? more.rlim_max : (rlim_t)n + SPARE_FILES;
	if (more.rlim_cur > before->rlim_cur) {
		setrlimit(RLIMIT_NOFILE, &more);
	}
}

// What a copy does first: it ends with the model's process, and has its own end of its socket alone. Lines are written whole, so that
// those of ranks appear in the order in which they were printed.
static void become_rank(pid_t model, int *sockets, int rank, int socket) {
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != model) {
		_exit(1);
	}
	for (int i = 0; i <= rank; i++) {
		close(sockets[i]);
	}
	gasneti_model_socket = socket;
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
}

int gasneti_make_ranks(int argc, char **argv) {
	int n = wanted();
	if (n == 0) {
		return 0;
	}
	if (threads() > 1) {
		fprintf(stderr, "aqueduct: gasnet_init: under a model the library makes a process of each rank here, so the program may have one thread; "
				"start others after gasnet_init\n");
		return -1;
	}
	fflush(NULL); // or each rank would write it once more
	int *sockets = calloc((size_t)n, sizeof *sockets), *pids = calloc((size_t)n, sizeof *pids);
	struct rlimit before;
	allow_files(n, &before);
	pid_t model = getpid();
	for (int i = 0; i < n; i++) {
		int ends[2];
		if (sockets == NULL || pids == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
			fprintf(stderr, "aqueduct: gasnet_init: a socket for rank %d of %d: %s\n", i, n, strerror(errno));
			_exit(1); // with which the ranks end that there are
		}
		sockets[i] = ends[0];
		pids[i] = fork();
		if (pids[i] == 0) {
			become_rank(model, sockets, i, ends[1]);
			setrlimit(RLIMIT_NOFILE, &before);
			free(sockets);
			free(pids);
			return 0;
		}
		if (pids[i] < 0) {
			fprintf(stderr, "aqueduct: gasnet_init: a process for rank %d of %d: %s\n", i, n, strerror(errno));
			_exit(1);
		}
		close(ends[1]);
	}
	forget_handlers();
	gasneti_start_runtime(argc, argv);
	_exit(aqStep(sockets, pids, n));
}

static uint64_t now(void) { return aqNow() / 1000; }
static void pass(uint64_t ns) { aqCompute(ns); }

void gasneti_model_clock(void) {
	static const struct gasneti_virtual clock = {now, pass};
	gasneti_virtual = &clock;
}

int aqueduct_modelled(void) { return gasneti_virtual != NULL; }

uint64_t aqueduct_now(void) { return gasneti_stage < GASNETI_JOINED ? 0 : aqNow(); }

void aqueduct_compute(uint64_t ns) {
	if (gasneti_virtual != NULL) {
		aqCompute(ns);
	}
}
