// What the example calls of MPI. It lies beside the program, compiled with the mpicc of each MPI library:
//
//	mpicc.openmpi -O2 -fPIC -shared -fvisibility=hidden -o libmpimix-openmpi.so mix.c
//	mpicc.mpich   -O2 -fPIC -shared -fvisibility=hidden -o libmpimix-mpich.so mix.c
//
// (scripts/mpi-shims.sh, which make build runs). Functions return 0, or another value if the call has
// failed.
#include <mpi.h>
#include <stddef.h>

#include "mix.h"

static int begin(void)
{
	int level;
	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS)
		return -1;
	return level < MPI_THREAD_SERIALIZED;
}

static int sum(uint64_t *value, int *n)
{
	if (MPI_Comm_size(MPI_COMM_WORLD, n) != MPI_SUCCESS)
		return -1;
	return MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS;
}

static int end(void) { return MPI_Finalize() != MPI_SUCCESS; }

static const mix_table functions = {begin, sum, end};

__attribute__((visibility("default"))) const mix_table *mix_functions(void) { return &functions; }
