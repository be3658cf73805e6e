// The table of what the example calls of MPI; mix.c says how it is compiled.
#include <stdint.h>

typedef struct {
	int (*begin)(void);                 // initialises MPI, as a program does that began as one of MPI's
	int (*sum)(uint64_t *value, int *n); // sums value over MPI_COMM_WORLD, which has *n processes
	int (*end)(void);                   // finalises MPI
} mix_table;

const mix_table *mix_functions(void);
