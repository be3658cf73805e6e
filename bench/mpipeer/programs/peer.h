// What the programs of all libraries have: CPUs, memory, commands.

#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAXBYTES = 4 << 20, MAXBLOCKS = 16 << 20, MAXRUN = 1 << 30 };

static int rank, ranks;

static void die(const char *what); // ends the job

// pin restricts this process to the rank-th CPU of the list, which names one for each rank.
static void pin(const char *list) {
	long mine = -1;
	int n = 0;
	for (char *end;; list = end + 1) {
		long cpu = strtol(list, &end, 10);
		if (end == list || cpu < 0 || cpu >= CPU_SETSIZE || (*end != ',' && *end != '\0')) die("bad list of CPUs");
		if (n++ == rank) mine = cpu;
		if (*end == '\0') break;
	}
	if (n != ranks) die("not as many ranks as CPUs; were compiler and launcher of one library?");
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(mine, &set);
	if (sched_setaffinity(0, sizeof set, &set) != 0) die("cannot use the CPU");
}

// command returns how many operations are asked for; 0 is the end.
static long command(void) {
	char text[64], rest;
	long n;
	while (fgets(text, sizeof text, stdin) != NULL) {
		if (sscanf(text, "run %ld%c", &n, &rest) == 2 && rest == '\n' && n >= 1 && n <= MAXRUN) return n;
		printf("error want: run N, N from 1 to %d\n", MAXRUN);
		fflush(stdout);
	}
	return 0;
}

// say writes a line, of rank 0.
static void say(const char *line) {
	if (rank != 0) return;
	puts(line);
	fflush(stdout);
}

// answer says how long an operation took.
static void answer(double ns) {
	if (rank != 0) return;
	printf("ok peer=%.4f\n", ns);
	fflush(stdout);
}
