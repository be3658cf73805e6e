// floor KIND CPU,CPU,... [BYTES [BYTES]] measures what the machine itself allows, one process per
// CPU named (a CPU may be named again). It says "ready", then answers each line "run N"
// with "ok VARIANT=NS ...": every variant's nanoseconds per operation over N operations.
// Between two answers all processes sleep in the kernel. It ends at end of input.
//
// The process that reads the commands does not measure: it starts one child per CPU,
// which die with it, and watches its input during a run, so that nothing survives whoever
// started it. It ends with status 3 where the kernel cannot do what the kind measures.

#define _GNU_SOURCE
#include "floor.h"
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { MAXVARIANTS = 16, MAXBYTES = 4 << 20, MAXRUN = 1 << 30, UNSUPPORTED = 3 };

// control is shared by all processes beside the mapping under test.
struct control {
	uint64_t arrived __attribute__((aligned(128)));
	uint64_t round __attribute__((aligned(128)));
	double ns[MAXVARIANTS]; // per operation, written by process 0
};

static const struct kind *const kinds[] = {&pingpong, &handoff, &echo, &ring, &copy, &memcopy, &fetch, &fetchadd, &barrier,
                                          &udp_trip, &udp_shared, &udp_sleep, &udp_stream, &udp_segments, &udp_barrier, &tcp_trip, &tcp_stream, NULL};

void die(const char *what) {
	fprintf(stderr, "floor: %s\n", what);
	_exit(1);
}

void die_errno(const char *what) {
	fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
	_exit(1);
}

void unsupported(const char *what) {
	fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
	_exit(UNSUPPORTED);
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

// meet returns when all n processes have called it.
static void meet(struct control *c, int n) {
	uint64_t round = load(&c->round);
	if (__atomic_add_fetch(&c->arrived, 1, __ATOMIC_ACQ_REL) == (uint64_t)n) {
		c->arrived = 0;
		publish(&c->round, round + 1);
		return;
	}
	for (int i = 0; load(&c->round) == round; i++)
		if (i > 1000) sched_yield();
}

// measure runs n operations of v from a clean state and returns how long one took.
static double measure(const struct kind *kind, const struct variant *v, struct control *c, struct proc *p, long n) {
	meet(c, p->n);
	if (p->me == 0) memset(p->mem, 0, kind->control);
	meet(c, p->n);
	double start = now();
	v->run(p, n);
	double ns = (now() - start) / n;
	meet(c, p->n);
	return ns;
}

static void pin(int cpu) {
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set) != 0) {
		fprintf(stderr, "floor: cannot use CPU %d: %s\n", cpu, strerror(errno));
		_exit(1);
	}
}

// work is the life of a measuring process: a run for every count that comes through the
// commands pipe, a byte through done when process 0 has finished its part.
static void work(const struct kind *kind, struct control *c, struct proc *p, int cpu, int commands, int done) {
	pin(cpu);
	p->buf = aligned_alloc(4096, MAXBYTES);
	if (p->buf == NULL) die("out of memory");
	memset(p->buf, p->me + 1, MAXBYTES);
	for (size_t i = 0; i < kind->bytes; i += 4096)
		((volatile char *)p->mem)[i] = 0; // map every page before the first measurement
	meet(c, p->n);
	for (;;) {
		long n;
		if (p->me == 0 && write(done, "", 1) != 1) _exit(1);
		if (read(commands, &n, sizeof n) != sizeof n) _exit(0);
		for (int v = 0; kind->variants[v].name != NULL; v++) {
			measure(kind, &kind->variants[v], c, p, n / 10 + 1);
			double ns = measure(kind, &kind->variants[v], c, p, n);
			if (p->me == 0) c->ns[v] = ns;
		}
	}
}

static void *shared(size_t bytes) {
	int fd = memfd_create("floor", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, bytes) != 0) die_errno("shared memory");
	void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED) die_errno("mmap");
	close(fd);
	return mem;
}

// finished waits for process 0 to end a run, or ends this program if its starter is gone.
static void finished(int done) {
	struct pollfd fds[2] = {{.fd = done, .events = POLLIN}, {.fd = 0}};
	char c;
	while (fds[0].revents == 0) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR) die_errno("poll");
		if (fds[1].revents != 0) _exit(0);
	}
	if (read(done, &c, 1) != 1) die("a measuring process died");
}

static void child_died(int sig) {
	(void)sig;
	static const char text[] = "floor: a measuring process died\n";
	if (write(2, text, sizeof text - 1)) {}
	_exit(1);
}

// serve answers the commands on standard input.
static void serve(const struct kind *kind, struct control *c, int n, int commands, int done) {
	finished(done);
	puts("ready");
	char text[64];
	while (fflush(stdout), fgets(text, sizeof text, stdin) != NULL) {
		long count = 0;
		char rest;
		if (sscanf(text, "run %ld%c", &count, &rest) != 2 || rest != '\n' || count < 1 || count > MAXRUN) {
			printf("error want: run N, N from 1 to %d\n", MAXRUN);
			continue;
		}
		for (int i = 0; i < n; i++)
			if (write(commands, &count, sizeof count) != sizeof count) die_errno("command pipe");
		finished(done);
		printf("ok");
		for (int v = 0; kind->variants[v].name != NULL; v++) printf(" %s=%.4f", kind->variants[v].name, c->ns[v]);
		printf("\n");
	}
	_exit(0);
}

// parse_cpus reads "0,1,1" into cpus and returns how many there are, or 0.
static int parse_cpus(const char *s, int *cpus) {
	for (int n = 0; n < MAXPROCS;) {
		char *end;
		long cpu = strtol(s, &end, 10);
		if (end == s || cpu < 0 || cpu >= CPU_SETSIZE) return 0;
		cpus[n++] = cpu;
		if (*end == '\0') return n;
		if (*end != ',') return 0;
		s = end + 1;
	}
	return 0;
}

int main(int argc, char **argv) {
	const struct kind *kind = NULL;
	for (int i = 0; argc >= 3 && kinds[i] != NULL; i++)
		if (strcmp(argv[1], kinds[i]->name) == 0) kind = kinds[i];
	if (kind == NULL || argc != 3 + kind->sized)
		die("usage: floor pingpong|handoff|ring|fetchadd|barrier|udp-barrier CPUS, "
		    "floor echo|copy|memcpy|fetch|udp-stream|udp-segments|tcp-stream CPUS BYTES, "
		    "floor udp-trip|udp-shared|udp-sleep|tcp-trip CPUS BYTES BYTES");
	int cpus[MAXPROCS], n = parse_cpus(argv[2], cpus);
	if (n < kind->min || n > kind->max) die("wrong list or number of CPUs");
	if (kind->spins && cpus[0] == cpus[1]) die("this floor needs two different CPUs");
	long sizes[2] = {0};
	for (int i = 0; i < kind->sized; i++) {
		sizes[i] = atol(argv[3 + i]);
		if (sizes[i] < 1 || sizes[i] > MAXBYTES) die("message size must be 1 to 4194304 bytes");
	}

	struct control *c = shared(sizeof *c);
	struct proc p = {.n = n, .size = sizes[0], .back = sizes[1], .mem = shared(kind->bytes)};
	if (kind->open != NULL) kind->open(&p);
	int commands[2], done[2];
	if (pipe(commands) != 0 || pipe(done) != 0) die_errno("pipe");
	signal(SIGCHLD, child_died);
	pid_t self = getpid();
	for (p.me = 0; p.me < n; p.me++) {
		pid_t pid = fork();
		if (pid < 0) die_errno("fork");
		if (pid > 0) continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != self) _exit(1);
		close(0);
		close(commands[1]);
		close(done[0]);
		work(kind, c, &p, cpus[p.me], commands[0], done[1]);
	}
	close(commands[0]);
	close(done[1]);
	serve(kind, c, n, commands[1], done[0]);
}
