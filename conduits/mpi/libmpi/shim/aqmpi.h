// The table through which Aqueduct calls an MPI library: one shared object per library,
// libaqueduct-mpi-openmpi.so or libaqueduct-mpi-mpich.so, compiled from aqmpi.c with the
// library's own mpicc, exports one function that returns it. No constant, handle or type of MPI
// passes through it, so the program that calls it is the same for every library.
//
// Functions return 0, or -1 and leave a text for error. The calls must be serialised, but may come
// from any thread.
#ifndef AQMPI_H
#define AQMPI_H

#include <stdint.h>

// AQMPI_VERSION is counted up with every change of this file.
#define AQMPI_VERSION 6

// Levels of thread support, in the order of MPI's.
enum { AQMPI_SINGLE, AQMPI_FUNNELED, AQMPI_SERIALIZED, AQMPI_MULTIPLE };

// Whose end of MPI's life is not the caller's.
enum { AQMPI_OURS, AQMPI_THEIRS };

// AQMPI_ANY, as the peer of a receive, is every rank of the end.
#define AQMPI_ANY (-1)

// aqmpi_post is a send or a receive that is to begin. It lies in memory as mpi.Post does, so that nothing is
// copied between the languages.
typedef struct {
	void *buf;
	intptr_t len, cap; // of buf; cap is not used
	uint64_t id;
	int32_t peer, tag;
	uint8_t receive;
} aqmpi_post;

// aqmpi_done tells that one has ended. It lies in memory as mpi.Completion does.
typedef struct {
	uint64_t id;
	intptr_t len;        // receive: bytes of the message
	int32_t source, tag; // receive: of the message
} aqmpi_done;

// What an aqmpi_collective does.
enum { AQMPI_BARRIER, AQMPI_BROADCAST, AQMPI_REDUCE, AQMPI_ALLREDUCE, AQMPI_ALLGATHER, AQMPI_ALLTOALL };

// How the elements of reductions combine. They are integers, for AQMPI_MIN and AQMPI_MAX with a sign;
// otherwise that makes no difference.
enum { AQMPI_BITAND, AQMPI_BITOR, AQMPI_BITXOR, AQMPI_SUM, AQMPI_PRODUCT, AQMPI_MIN, AQMPI_MAX };

// aqmpi_collective is a collective operation of all ranks of the end.
typedef struct {
	uint64_t id;
	int32_t what, root;
	int32_t element, combine; // reductions: bytes of an element, 4 or 8, and how elements combine
	int64_t len;              // bytes of a rank's block, or of what is broadcast or reduced
	uint64_t source;          // an address, as a number; 0: it is in result, for AQMPI_ALLGATHER in its place there
	uint64_t result;          // AQMPI_BROADCAST: at the root the source
} aqmpi_collective;

// aqmpi_near is the segment of a process on the caller's host.
typedef struct {
	int32_t rank; // among the processes that MPI started together
	int64_t len;
	void *memory; // where the caller sees it
} aqmpi_near;

// aqmpi_shared tells what share has made.
typedef struct {
	int32_t n;          // processes of the end on the caller's host that share memory; 0: none was made
	int32_t place;      // of the caller among them
	int64_t need, room; // bytes that it takes, and those that there are: there may not be enough
} aqmpi_shared;

// aqmpi_end is one rank's end of message passing, on a communicator of its own.
typedef struct aqmpi_end aqmpi_end;

typedef struct {
	uint32_t version; // AQMPI_VERSION

	// error returns the text of the last call that has failed.
	const char *(*error)(void);
	// library returns name and version of the library. It may be called before init.
	const char *(*library)(void);

	// init initialises MPI unless the program has. It wants a level of thread support and returns
	// the level that there is, and who has initialised. AQMPI_SERIALIZED asks for the least level at which
	// calls that do not overlap may come from any thread, which may be lower.
	int (*init)(int want, int *level, int *owner);
	// finalize finalises MPI. Collective over the processes that MPI started together.
	int (*finalize)(void);
	// world returns the caller's place among the processes that MPI started together.
	int (*world)(int *rank, int *size);
	// local writes which of them are on the caller's host, ascending. Collective over them.
	int (*local)(int32_t *ranks, int *n);
	// abort ends all of them with the status. With apart no other call is under way, or will be.
	int (*abort)(int status, int apart);

	// gather begins to bring n bytes of every process to every process: those of process i go to
	// out + at[i], where count[i] is their number; with count NULL, every process gives n. With n
	// 0 and out NULL it is a barrier. One gather at a time may be under way. Collective.
	int (*gather)(const void *in, int n, void *out, const int *count, const int *at);
	// gathered reports whether it has ended.
	int (*gathered)(int *ended);

	// open makes an end among n processes, given by their ranks in ascending order; NULL: all.
	// Collective over these.
	int (*open)(const int *group, int n, aqmpi_end **end);
	// progress starts the posts, in their order, and writes up to most that have ended to done. With spin
	// it looks for longer for something that has, a few microseconds at most.
	int (*progress)(aqmpi_end *end, const aqmpi_post *posts, int n, aqmpi_done *done, int most, int spin, int *ended);
	// share allocates memory on each rank of the end, from the beginning of a page, that is memory of
	// the others on its host as well, and writes where all these are to near, which has room for
	// every rank of the end. It makes none for a rank that is alone on its host, or where
	// nobody wants any, or all have no room. Collective.
	int (*share)(aqmpi_end *end, int64_t size, aqmpi_near *near, aqmpi_shared *shared);
	// join makes what collect needs. Collective.
	int (*join)(aqmpi_end *end);
	// collect begins a collective operation; all ranks of the end begin the same in the same order.
	// What it names belongs to it until progress has written that it has ended.
	int (*collect)(aqmpi_end *end, const aqmpi_collective *c);
	// close ends what is under way and frees the end. With drain, it first completes what was
	// sent, and the collective operations, of which all ranks have begun the same: collective then.
	int (*close)(aqmpi_end *end, int drain);
} aqmpi_table;

// AQMPI_SYMBOL is the name of the one function that a shim exports.
#define AQMPI_SYMBOL "aqmpi_functions"
const aqmpi_table *aqmpi_functions(void);

#endif
