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
#define AQMPI_VERSION 2

// Levels of thread support, in the order of MPI's.
enum { AQMPI_SINGLE, AQMPI_FUNNELED, AQMPI_SERIALIZED, AQMPI_MULTIPLE };

// Whose end of MPI's life is not the caller's.
enum { AQMPI_OURS, AQMPI_THEIRS };

// AQMPI_ANY, as the peer of a receive, is every rank of the end.
#define AQMPI_ANY (-1)

// aqmpi_post is a send or a receive that is to begin.
typedef struct {
	void *buf;
	uint64_t id;
	int32_t len, peer, tag, receive;
} aqmpi_post;

// aqmpi_done tells that one has ended.
typedef struct {
	uint64_t id;
	int64_t len;         // receive: bytes of the message
	int32_t source, tag; // receive: of the message
} aqmpi_done;

// What an aqmpi_access does.
enum { AQMPI_PUT, AQMPI_GET, AQMPI_ADD, AQMPI_FETCH };

// aqmpi_access is an operation on the window of a rank.
typedef struct {
	int32_t what, rank;
	uint64_t off;
	int64_t len;        // bytes; AQMPI_ADD, AQMPI_FETCH: of the element, an integer, 4 or 8
	const void *source; // AQMPI_PUT: the data; AQMPI_ADD: what is added
	void *result;       // AQMPI_GET: where the data goes; AQMPI_ADD, AQMPI_FETCH: the element before
} aqmpi_access;

// aqmpi_end is one rank's end of message passing, on a communicator of its own.
typedef struct aqmpi_end aqmpi_end;

typedef struct {
	uint32_t version; // AQMPI_VERSION

	// error returns the text of the last call that has failed.
	const char *(*error)(void);
	// library returns name and version of the library. It may be called before init.
	const char *(*library)(void);

	// init initialises MPI unless the program has. It wants a level of thread support and returns
	// the level that there is, and who has initialised.
	int (*init)(int want, int *level, int *owner);
	// finalize finalises MPI. Collective over the processes that MPI started together.
	int (*finalize)(void);
	// world returns the caller's place among the processes that MPI started together.
	int (*world)(int *rank, int *size);
	// local writes which of them are on the caller's host, ascending. Collective over them.
	int (*local)(int32_t *ranks, int *n);
	// abort ends all of them with the status.
	int (*abort)(int status);

	// gather begins to bring n bytes of every process to every process: those of process i go to
	// out + at[i], where count[i] is their number; with count NULL, every process gives n. With n
	// 0 and out NULL it is a barrier. One gather at a time may be under way. Collective.
	int (*gather)(const void *in, int n, void *out, const int *count, const int *at);
	// gathered reports whether it has ended.
	int (*gathered)(int *ended);

	// open makes an end among n processes, given by their ranks in ascending order; NULL: all.
	// Collective over these.
	int (*open)(const int *group, int n, aqmpi_end **end);
	// progress starts the posts, in their order, and writes up to most that have ended to done.
	int (*progress)(aqmpi_end *end, const aqmpi_post *posts, int n, aqmpi_done *done, int most, int *ended);
	// window allocates memory on each rank of the end that the others may access. Collective.
	int (*window)(aqmpi_end *end, int64_t size, void **memory);
	// access begins an operation; what it names belongs to it until the next progress has returned,
	// when it is complete.
	int (*access)(aqmpi_end *end, const aqmpi_access *a);
	// close ends what is under way and frees the end. With drain, it first completes what was
	// sent: collective then.
	int (*close)(aqmpi_end *end, int drain);
} aqmpi_table;

// AQMPI_SYMBOL is the name of the one function that a shim exports.
#define AQMPI_SYMBOL "aqmpi_functions"
const aqmpi_table *aqmpi_functions(void);

#endif
