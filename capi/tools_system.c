// The system's clock, CPUs, memory and limits, for the tools.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "include/gasnet_tools.h"
#include "model.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

const struct gasneti_virtual *gasneti_virtual;

gasnett_tick_t gasnett_ticks_now(void) {
	if (gasneti_virtual != NULL) {
		return gasneti_virtual->now();
	}
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (gasnett_tick_t)t.tv_sec * 1000000000 + (gasnett_tick_t)t.tv_nsec;
}

enum { SAMPLES = 1000 };

double gasnett_tick_granularityus(void) {
	if (gasneti_virtual != NULL) {
		return 0.001; // and it does not pass by itself
	}
	gasnett_tick_t least = GASNETT_TICK_MAX, last = gasnett_ticks_now();
	for (int i = 0; i < SAMPLES;) {
		gasnett_tick_t now = gasnett_ticks_now();
		if (now != last) {
			least = now - last < least ? now - last : least;
			last = now;
			i++;
		}
	}
	return (double)least / 1000;
}

double gasnett_tick_overheadus(void) {
	gasnett_tick_t start = gasnett_ticks_now();
	for (int i = 0; i < SAMPLES; i++) {
		(void)gasnett_ticks_now();
	}
	return (double)(gasnett_ticks_now() - start) / 1000 / SAMPLES;
}

uint64_t gasnett_gettimeofday_us(void) {
	if (gasneti_virtual != NULL) {
		return gasneti_virtual->now() / 1000; // a day that begins with the job
	}
	struct timeval t;
	gettimeofday(&t, NULL);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

int gasnett_nsleep(uint64_t ns) {
	if (gasneti_virtual != NULL) {
		gasneti_virtual->pass(ns);
		return 0;
	}
	struct timespec left = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
	while (nanosleep(&left, &left) != 0) {
		if (errno != EINTR) {
			return -1;
		}
	}
	return 0;
}

int gasnett_cpu_count(void) {
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (int)n : 0;
}

uint64_t gasnett_getPhysMemSz(int fatal) {
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	if (pages <= 0 || size <= 0) {
		if (fatal) {
			gasnett_fatalerror("gasnett_getPhysMemSz: the system does not say how much memory there is");
		}
		return 0;
	}
	return (uint64_t)pages * (uint64_t)size;
}

const char *gasnett_gethostname(void) {
	static char name[256];
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&lock);
	if (name[0] == 0 && gethostname(name, sizeof name - 1) != 0) {
		strcpy(name, "unknown");
	}
	pthread_mutex_unlock(&lock);
	return name;
}

// CPUs are counted among those that the thread may use now.
int gasnett_set_affinity(int rank) {
	cpu_set_t may, one;
	if (rank < 0 || sched_getaffinity(0, sizeof may, &may) != 0) {
		return 1;
	}
	int skip = rank % CPU_COUNT(&may);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &may) && skip-- == 0) {
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			return sched_setaffinity(0, sizeof one, &one) != 0;
		}
	}
	return 1;
}

void gasnett_flush_streams(void) { fflush(NULL); }

void gasnett_close_streams(void) {
	fclose(stdin);
	fclose(stdout);
	fclose(stderr);
}

void gasnett_killmyprocess(int status) { _exit(status); }

gasnett_sighandlerfn_t gasnett_reghandler(int sig, gasnett_sighandlerfn_t handler) {
	struct sigaction now, before;
	memset(&now, 0, sizeof now);
	now.sa_handler = handler;
	now.sa_flags = SA_ONSTACK | SA_RESTART;
	if (sigaction(sig, &now, &before) != 0) {
		gasnett_fatalerror("gasnett_reghandler: signal %d cannot have a handler", sig);
	}
	return before.sa_handler;
}

int gasnett_maximize_rlimit(int resource, const char *name) {
	char variable[64];
	snprintf(variable, sizeof variable, "GASNET_MAXIMIZE_%s", name);
	if (!gasnett_getenv_yesno_withdefault(variable, 1)) {
		return 0;
	}
	struct rlimit limit;
	if (getrlimit(resource, &limit) != 0) {
		return 0;
	}
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(resource, &limit) == 0;
}

void gasnett_maximize_rlimits(void) {
	gasnett_maximize_rlimit(RLIMIT_CPU, "RLIMIT_CPU");
	gasnett_maximize_rlimit(RLIMIT_DATA, "RLIMIT_DATA");
	gasnett_maximize_rlimit(RLIMIT_RSS, "RLIMIT_RSS");
	gasnett_maximize_rlimit(RLIMIT_STACK, "RLIMIT_STACK");
	gasnett_maximize_rlimit(RLIMIT_AS, "RLIMIT_AS");
}

// 64-bit FNV-1a.
uint64_t gasnett_checksum(const void *p, int nbytes) {
	const unsigned char *b = p;
	uint64_t sum = 0xCBF29CE484222325u;
	for (int i = 0; i < nbytes; i++) {
		sum = (sum ^ b[i]) * 0x100000001B3u;
	}
	return sum;
}

size_t gasnett_count0s(const void *src, size_t nbytes) {
	const unsigned char *b = src;
	size_t n = 0;
	for (size_t i = 0; i < nbytes; i++) {
		n += b[i] == 0;
	}
	return n;
}

size_t gasnett_count0s_copy(void *dst, const void *src, size_t nbytes) {
	memcpy(dst, src, nbytes);
	return gasnett_count0s(src, nbytes);
}

void *gasnett_mmap(uintptr_t size) {
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED) {
		gasnett_fatalerror("gasnett_mmap: %s for %llu bytes", strerror(errno), (unsigned long long)size);
	}
	return p;
}

void *gasnett_malloc_aligned(size_t alignment, size_t size) {
	void *p;
	if (posix_memalign(&p, alignment < sizeof p ? sizeof p : alignment, size) != 0) {
		gasnett_fatalerror("gasnett_malloc_aligned: no %llu bytes aligned to %llu", (unsigned long long)size, (unsigned long long)alignment);
	}
	return p;
}

void gasnett_free_aligned(void *p) { free(p); }
