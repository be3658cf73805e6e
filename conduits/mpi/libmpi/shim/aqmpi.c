// Compiled by scripts/mpi-shims.sh with the mpicc of each MPI library; see aqmpi.h.
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "aqmpi.h"

#if MPI_VERSION < 3
#error "MPI 3.0 or newer is needed: nonblocking collectives, communicators of groups"
#endif

static char text[MPI_MAX_ERROR_STRING + 128]; // of the last error

static const char *error(void) { return text; }

// failed notes what call has failed with, and returns -1.
static int failed(const char *call, int code)
{
	char why[MPI_MAX_ERROR_STRING] = "unknown error";
	int n;
	MPI_Error_string(code, why, &n);
	snprintf(text, sizeof text, "%s: %s", call, why);
	return -1;
}

// unfit notes an error of this file's own, and returns -1.
static int unfit(const char *why)
{
	snprintf(text, sizeof text, "%s", why);
	return -1;
}

#define CALL(f, args) \
	do { \
		int code_ = f args; \
		if (code_ != MPI_SUCCESS) \
			return failed(#f, code_); \
	} while (0)

static const char *library(void)
{
	static char version[MPI_MAX_LIBRARY_VERSION_STRING];
	int n;
	if (!version[0]) {
		MPI_Get_library_version(version, &n);
		version[strcspn(version, "\n")] = 0;
	}
	return version;
}

// Whole processes.

static MPI_Comm world_comm = MPI_COMM_NULL; // a duplicate of MPI_COMM_WORLD
static MPI_Request gathering = MPI_REQUEST_NULL;

static int level_of(int provided)
{
	switch (provided) {
	case MPI_THREAD_MULTIPLE: return AQMPI_MULTIPLE;
	case MPI_THREAD_SERIALIZED: return AQMPI_SERIALIZED;
	case MPI_THREAD_FUNNELED: return AQMPI_FUNNELED;
	}
	return AQMPI_SINGLE;
}

// SERIAL is the least level at which calls that do not overlap may come from any thread. In Open MPI the
// level decides only whether calls lock, which they do from MPI_THREAD_FUNNELED on; they keep nothing for a thread.
#ifdef OPEN_MPI
#define SERIAL MPI_THREAD_SINGLE
#else
#define SERIAL MPI_THREAD_SERIALIZED
#endif

static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, SERIAL, MPI_THREAD_MULTIPLE};

static int init(int want, int *level, int *owner)
{
	int provided, flag;
	CALL(MPI_Finalized, (&flag));
	if (flag)
		return unfit("MPI has been finalised in this process and cannot be initialised again");
	CALL(MPI_Initialized, (&flag));
	*owner = flag ? AQMPI_THEIRS : AQMPI_OURS;
	if (flag) {
		CALL(MPI_Query_thread, (&provided));
	} else {
		CALL(MPI_Init_thread, (NULL, NULL, levels[want], &provided));
	}
	*level = level_of(provided);
	CALL(MPI_Comm_dup, (MPI_COMM_WORLD, &world_comm));
	CALL(MPI_Comm_set_errhandler, (world_comm, MPI_ERRORS_RETURN));
	return 0;
}

static int finalize(void)
{
	if (world_comm != MPI_COMM_NULL)
		CALL(MPI_Comm_free, (&world_comm));
	CALL(MPI_Finalize, ());
	return 0;
}

static int world(int *rank, int *size)
{
	CALL(MPI_Comm_rank, (world_comm, rank));
	CALL(MPI_Comm_size, (world_comm, size));
	return 0;
}

// translate writes what the n ranks of a group, or all if ranks is NULL, are in another one.
static int translate(MPI_Group from, int n, const int *ranks, MPI_Group to, int *out)
{
	int *all = malloc(n * sizeof *all);
	if (!all)
		return unfit("no memory");
	for (int i = 0; i < n; i++)
		all[i] = ranks ? ranks[i] : i;
	int code = MPI_Group_translate_ranks(from, n, all, to, out);
	free(all);
	return code == MPI_SUCCESS ? 0 : failed("MPI_Group_translate_ranks", code);
}

// on_host makes the communicator of those of comm's processes that share memory with the caller, in
// the same order.
static int on_host(MPI_Comm comm, MPI_Comm *host)
{
	int me;
	CALL(MPI_Comm_rank, (comm, &me));
	CALL(MPI_Comm_split_type, (comm, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, host));
	CALL(MPI_Comm_set_errhandler, (*host, MPI_ERRORS_RETURN));
	return 0;
}

static int local(int32_t *ranks, int *n)
{
	MPI_Comm host;
	MPI_Group here, all;
	if (on_host(world_comm, &host) != 0)
		return -1;
	CALL(MPI_Comm_size, (host, n));
	CALL(MPI_Comm_group, (host, &here));
	CALL(MPI_Comm_group, (world_comm, &all));
	int result = translate(here, *n, NULL, all, ranks);
	CALL(MPI_Group_free, (&here));
	CALL(MPI_Group_free, (&all));
	CALL(MPI_Comm_free, (&host));
	return result;
}

static int abort_all(int status, int apart)
{
#ifdef MPICH
	// Of a single process MPICH's MPI_Abort only exits. Hydra of before 4.2 may then see its connection close
	// before its end, and report status 1 for it.
	int size, finalized;
	CALL(MPI_Finalized, (&finalized));
	if (apart && !finalized) {
		CALL(MPI_Comm_size, (MPI_COMM_WORLD, &size));
		if (size == 1) {
			CALL(MPI_Finalize, ());
			exit(status);
		}
	}
#else
	(void)apart;
#endif
	CALL(MPI_Abort, (MPI_COMM_WORLD, status));
	return 0;
}

static int gather(const void *in, int n, void *out, const int *count, const int *at)
{
	if (gathering != MPI_REQUEST_NULL)
		return unfit("a second collective call before the first has ended");
	if (!out)
		CALL(MPI_Ibarrier, (world_comm, &gathering));
	else if (!count)
		CALL(MPI_Iallgather, (in, n, MPI_BYTE, out, n, MPI_BYTE, world_comm, &gathering));
	else
		CALL(MPI_Iallgatherv, (in, n, MPI_BYTE, out, count, at, MPI_BYTE, world_comm, &gathering));
	return 0;
}

static int gathered(int *ended)
{
	CALL(MPI_Test, (&gathering, ended, MPI_STATUS_IGNORE));
	return 0;
}

// Ends. Receives of one lane and one source, or any, wait in a queue, as in MPI itself, which matches
// them in the order of their posts; short messages end as they are matched. So it suffices to test
// the first of each queue, and those behind only now and then.

enum { LANES = 2 };       // tags 0 and 1 are lanes
enum { FEW = 4 };         // receives that are not begun before sends
enum { SENDS = 16 };      // under way, up to which a call that sends does not test
enum { TEST_ALL = 1024 }; // looks in vain, after which whole queues are tested
enum { UNMOVED = 8 };     // calls in a row that look, after which MPI makes progress whatever has ended

// LOOKS is how often a call looks in vain, and SPINS how often one whose caller waits does: it finds a message
// sooner than by going to and fro between Go and C. Open MPI tests before it makes progress, so what that
// brings takes another look; its looks are shorter.
#ifdef OPEN_MPI
enum { LOOKS = 4, SPINS = 32 };
#else
enum { LOOKS = 1, SPINS = 16 };
#endif

// queue is a ring of receives behind the first, which is among the tests.
typedef struct {
	struct pending {
		MPI_Request req; // MPI_REQUEST_NULL: has ended
		uint64_t id;
	} *ring;
	int first, n, size; // size is a power of two
	int head;           // place of the first among the tests; its request is MPI_REQUEST_NULL if the queue is empty
} queue;

// test tells of a request that is tested.
typedef struct {
	uint64_t id;
	int receive;
	int queue; // number of the queue of which it is the first; LOOSE: none
} test;

enum { LOOSE = -1 };

struct aqmpi_end {
	MPI_Comm comm[LANES]; // each lane has a communicator, so that its messages match at once; payloads use the first
	int *to, *from;       // world rank to rank in comm and back; NULL: the same
	int ranks;            // in comm

	int64_t *sent;    // messages, to each rank of comm
	int64_t received; // messages

	queue *queues;
	int nqueues;
	int *queue_of; // number of the queue of a lane and a source, plus one; 0: none yet

	// What MPI_Testany is given, and what that is: the first of each queue, and all other requests.
	MPI_Request *req;
	test *tests;
	int n, size; // number of them, room for them
	int sends;   // among them
	int next;    // which the next test begins with, so that each has its turn

	MPI_Comm joint;       // for collective operations; MPI_COMM_NULL: there are none
	MPI_Request *joining; // those under way
	uint64_t *joining_id;
	int njoining, joiningsize;
	int *index; // what MPI_Testsome returns, for as many
	MPI_Status *status;
	int64_t joined; // operations that have begun

	MPI_Win window; // MPI_WIN_NULL: none

	aqmpi_done *late; // ended, but the caller had no room
	int nlate, latesize;
	unsigned vain; // looks in vain
	int unmoved;   // calls that looked since MPI is known to have made progress
};

// grow makes room for n elements of size each in an array.
static int grow(void *array, int n, size_t size)
{
	void *p = realloc(*(void **)array, n * size);
	if (!p)
		return unfit("no memory");
	*(void **)array = p;
	return 0;
}

#define GROW(array, n) \
	do { \
		if (grow(&(array), n, sizeof *(array)) != 0) \
			return -1; \
	} while (0)

// add has a request tested.
static int add(aqmpi_end *e, MPI_Request req, test t)
{
	if (e->n == e->size) {
		int size = e->size ? 2 * e->size : 64;
		GROW(e->req, size);
		GROW(e->tests, size);
		e->size = size;
	}
	e->req[e->n] = req;
	e->tests[e->n++] = t;
	e->sends += !t.receive;
	return 0;
}

// forget ends the test of a loose request. The last test takes its place.
static void forget(aqmpi_end *e, int i)
{
	e->n--;
	e->req[i] = e->req[e->n];
	e->tests[i] = e->tests[e->n];
	if (e->tests[i].queue != LOOSE)
		e->queues[e->tests[i].queue].head = i;
}

// at returns the i-th receive behind the first of a queue.
static struct pending *at(queue *q, int i) { return &q->ring[(q->first + i) & (q->size - 1)]; }

// enqueue puts a receive at the end of a queue.
static int enqueue(aqmpi_end *e, queue *q, struct pending p)
{
	if (e->req[q->head] == MPI_REQUEST_NULL) {
		e->req[q->head] = p.req;
		e->tests[q->head].id = p.id;
		return 0;
	}
	if (q->n == q->size) {
		int old = q->size, size = old ? 2 * old : 64;
		GROW(q->ring, size);
		// What had wrapped round goes behind the old end.
		memcpy(q->ring + old, q->ring, q->first * sizeof *q->ring);
		q->size = size;
	}
	*at(q, q->n++) = p;
	return 0;
}

// advance makes the next receive of a queue its first, whose own has ended.
static void advance(aqmpi_end *e, queue *q)
{
	while (q->n > 0 && e->req[q->head] == MPI_REQUEST_NULL) {
		e->req[q->head] = at(q, 0)->req;
		e->tests[q->head].id = at(q, 0)->id;
		q->first = (q->first + 1) & (q->size - 1);
		q->n--;
	}
}

// queue_for finds or makes the queue of a lane and a source, which is a rank of the communicator or
// MPI_ANY_SOURCE.
static int queue_for(aqmpi_end *e, int lane, int source, queue **q)
{
	int *number = &e->queue_of[lane * (e->ranks + 1) + (source == MPI_ANY_SOURCE ? e->ranks : source)];
	if (*number == 0) {
		GROW(e->queues, e->nqueues + 1);
		e->queues[e->nqueues] = (queue){.head = e->n};
		if (add(e, MPI_REQUEST_NULL, (test){.receive = 1, .queue = e->nqueues}) != 0)
			return -1;
		*number = ++e->nqueues;
	}
	*q = &e->queues[*number - 1];
	return 0;
}

// output is where what has ended goes.
typedef struct {
	aqmpi_done *done;
	int most, n;
} output;

static int put(aqmpi_end *e, output *o, aqmpi_done d)
{
	if (o->n < o->most) {
		o->done[o->n++] = d;
		return 0;
	}
	if (e->nlate == e->latesize) {
		int size = e->latesize ? 2 * e->latesize : 64;
		GROW(e->late, size);
		e->latesize = size;
	}
	e->late[e->nlate++] = d;
	return 0;
}

static int received(aqmpi_end *e, output *o, uint64_t id, const MPI_Status *s)
{
	int count;
	CALL(MPI_Get_count, ((MPI_Status *)s, MPI_BYTE, &count));
	int source = e->from ? e->from[s->MPI_SOURCE] : s->MPI_SOURCE;
	e->received++;
	return put(e, o, (aqmpi_done){.id = id, .len = count, .source = source, .tag = s->MPI_TAG});
}

static MPI_Comm comm_of(const aqmpi_end *e, int tag) { return e->comm[tag < LANES ? tag : 0]; }

// post_send begins a send. A short one has usually ended by then: nothing is kept of it.
static int post_send(aqmpi_end *e, output *o, const aqmpi_post *p)
{
	MPI_Request req;
	int over, peer = e->to ? e->to[p->peer] : p->peer;
	CALL(MPI_Isend, (p->buf, (int)p->len, MPI_BYTE, peer, p->tag, comm_of(e, p->tag), &req));
	e->sent[peer]++;
	CALL(MPI_Test, (&req, &over, MPI_STATUS_IGNORE));
	return over ? put(e, o, (aqmpi_done){.id = p->id}) : add(e, req, (test){.id = p->id, .queue = LOOSE});
}

static int post_receive(aqmpi_end *e, const aqmpi_post *p)
{
	struct pending r = {.id = p->id};
	int peer = p->peer == AQMPI_ANY ? MPI_ANY_SOURCE : e->to ? e->to[p->peer] : p->peer;
	CALL(MPI_Irecv, (p->buf, (int)p->len, MPI_BYTE, peer, p->tag, comm_of(e, p->tag), &r.req));
	if (p->tag >= LANES)
		return add(e, r.req, (test){.id = p->id, .receive = 1, .queue = LOOSE});
	queue *q;
	return queue_for(e, p->tag, peer, &q) == 0 ? enqueue(e, q, r) : -1;
}

static int post_receives(aqmpi_end *e, const aqmpi_post *posts, int n)
{
	for (int i = 0; i < n; i++)
		if (posts[i].receive && post_receive(e, &posts[i]) != 0)
			return -1;
	return 0;
}

static int post_sends(aqmpi_end *e, output *o, const aqmpi_post *posts, int n)
{
	for (int i = 0; i < n; i++)
		if (!posts[i].receive && post_send(e, o, &posts[i]) != 0)
			return -1;
	return 0;
}

// start begins the posts. Somebody may wait for the sends, so they go first, unless there are more
// than a few receives: these may be what a send promises to a new peer.
static int start(aqmpi_end *e, output *o, const aqmpi_post *posts, int n, int *sends)
{
	int receives = 0;
	for (int i = 0; i < n; i++)
		receives += posts[i].receive;
	*sends = n - receives;
	if (receives > FEW && post_receives(e, posts, n) != 0)
		return -1;
	if (*sends > 0 && post_sends(e, o, posts, n) != 0)
		return -1;
	return receives > 0 && receives <= FEW ? post_receives(e, posts, n) : 0;
}

// ended takes a request that has ended from the tests.
static int ended(aqmpi_end *e, output *o, int i, const MPI_Status *s)
{
	test t = e->tests[i];
	if (t.queue == LOOSE)
		forget(e, i);
	else
		advance(e, &e->queues[t.queue]);
	e->sends -= !t.receive;
	return t.receive ? received(e, o, t.id, s) : put(e, o, (aqmpi_done){.id = t.id});
}

// look_behind takes what has ended of a queue but its first.
static int look_behind(aqmpi_end *e, output *o, queue *q)
{
	for (int i = 0; i < q->n; i++) {
		int over;
		MPI_Status s;
		struct pending *p = at(q, i);
		if (p->req == MPI_REQUEST_NULL)
			continue;
		CALL(MPI_Test, (&p->req, &over, &s));
		if (over && received(e, o, p->id, &s) != 0)
			return -1;
	}
	return 0;
}

// look takes one request that has ended. *found reports that there was one.
static int look(aqmpi_end *e, output *o, int *found)
{
	int from, i, flag;
	MPI_Status s;
	do {
		from = e->next < e->n ? e->next : 0;
		CALL(MPI_Testany, (e->n - from, e->req + from, &i, &flag, &s));
		if ((*found = flag && i != MPI_UNDEFINED)) {
			e->next = from + i + (e->tests[from + i].queue != LOOSE);
			return ended(e, o, from + i, &s);
		}
		if (!flag)
			e->unmoved = 0;
		e->next = 0;
	} while (from > 0);
	return 0;
}

// Collective operations of all ranks of an end, on a communicator of their own.

static int join(aqmpi_end *e)
{
	CALL(MPI_Comm_dup, (e->comm[0], &e->joint));
	CALL(MPI_Comm_set_errhandler, (e->joint, MPI_ERRORS_RETURN));
	return 0;
}

// element_type returns the type of elements. Sums and products wrap round, which C defines for
// integers without a sign.
static MPI_Datatype element_type(int size, int combine)
{
	if (combine == AQMPI_MIN || combine == AQMPI_MAX)
		return size == 4 ? MPI_INT32_T : MPI_INT64_T;
	return size == 4 ? MPI_UINT32_T : MPI_UINT64_T;
}

static MPI_Op operator_of(int combine)
{
	switch (combine) {
	case AQMPI_BITAND: return MPI_BAND;
	case AQMPI_BITOR: return MPI_BOR;
	case AQMPI_BITXOR: return MPI_BXOR;
	case AQMPI_SUM: return MPI_SUM;
	case AQMPI_PRODUCT: return MPI_PROD;
	case AQMPI_MIN: return MPI_MIN;
	}
	return MPI_MAX;
}

static int begin_collective(aqmpi_end *e, const aqmpi_collective *c, MPI_Request *req)
{
	const void *in = c->source ? (const void *)c->source : MPI_IN_PLACE;
	void *out = (void *)c->result;
	int root = e->to ? e->to[c->root] : c->root, n = (int)c->len;
	MPI_Datatype type = element_type(c->element, c->combine);
	MPI_Op op = operator_of(c->combine);
	int elements = c->element ? n / c->element : 0;
	switch (c->what) {
	case AQMPI_BARRIER:
		CALL(MPI_Ibarrier, (e->joint, req));
		return 0;
	case AQMPI_BROADCAST:
		CALL(MPI_Ibcast, (out, n, MPI_BYTE, root, e->joint, req));
		return 0;
	case AQMPI_REDUCE:
		CALL(MPI_Ireduce, (in, out, elements, type, op, root, e->joint, req));
		return 0;
	case AQMPI_ALLREDUCE:
		CALL(MPI_Iallreduce, (in, out, elements, type, op, e->joint, req));
		return 0;
	case AQMPI_ALLGATHER:
		CALL(MPI_Iallgather, (in, n, MPI_BYTE, out, n, MPI_BYTE, e->joint, req));
		return 0;
	}
	CALL(MPI_Ialltoall, (in, n, MPI_BYTE, out, n, MPI_BYTE, e->joint, req));
	return 0;
}

static int collect(aqmpi_end *e, const aqmpi_collective *c)
{
	if (e->njoining == e->joiningsize) {
		int size = e->joiningsize ? 2 * e->joiningsize : 64;
		GROW(e->joining, size);
		GROW(e->joining_id, size);
		GROW(e->index, size);
		GROW(e->status, size);
		e->joiningsize = size;
	}
	if (begin_collective(e, c, &e->joining[e->njoining]) != 0)
		return -1;
	e->joining_id[e->njoining++] = c->id;
	e->joined++;
	return 0;
}

// testsome tests n collective operations, and checks what has ended for errors.
static int testsome(aqmpi_end *e, int n, int *count)
{
	int code = MPI_Testsome(n, e->joining, count, e->index, e->status);
	if (code == MPI_ERR_IN_STATUS) {
		for (int i = 0; i < *count; i++)
			if (e->status[i].MPI_ERROR != MPI_SUCCESS && e->status[i].MPI_ERROR != MPI_ERR_PENDING)
				return failed("MPI_Testsome", e->status[i].MPI_ERROR);
	}
	if (code != MPI_SUCCESS)
		return failed("MPI_Testsome", code);
	if (*count == MPI_UNDEFINED)
		*count = 0;
	return 0;
}

// look_joining takes what has ended of the collective operations and adds how many to *found.
static int look_joining(aqmpi_end *e, output *o, int *found)
{
	int ended, left = 0;
	if (testsome(e, e->njoining, &ended) != 0)
		return -1;
	if (ended == 0)
		return 0;
	*found += ended;
	for (int i = 0; i < e->njoining; i++) {
		if (e->joining[i] == MPI_REQUEST_NULL) {
			if (put(e, o, (aqmpi_done){.id = e->joining_id[i]}) != 0)
				return -1;
			continue;
		}
		e->joining[left] = e->joining[i];
		e->joining_id[left++] = e->joining_id[i];
	}
	e->njoining = left;
	return 0;
}

static int leave_joint(aqmpi_end *e)
{
	if (e->joint == MPI_COMM_NULL)
		return 0;
	CALL(MPI_Comm_free, (&e->joint));
	return 0;
}

// move has MPI make progress. A library may do so only in calls that find nothing: Open MPI's
// MPI_Testsome does, so that a rank which finds something in every call, such as its messages to itself,
// would take nothing from others. Nobody sends from point to point on world_comm, so a probe finds nothing.
static int move(aqmpi_end *e)
{
	int found;
	CALL(MPI_Iprobe, (MPI_ANY_SOURCE, 0, world_comm, &found, MPI_STATUS_IGNORE));
	e->unmoved = 0;
	return 0;
}

static int progress(aqmpi_end *e, const aqmpi_post *posts, int n, aqmpi_done *done, int most, int spin, int *count)
{
	output o = {done, most, 0};
	int sends, looks = spin ? SPINS : LOOKS;
	if (e->nlate > 0) {
		o.n = e->nlate < most ? e->nlate : most;
		memcpy(done, e->late, o.n * sizeof *done);
		e->nlate -= o.n;
		memmove(e->late, e->late + o.n, e->nlate * sizeof *e->late);
	}
	if (start(e, &o, posts, n, &sends) != 0)
		return -1;
	// A call that sends looks for nothing, as long as few sends are under way: the caller polls anyway
	// when it waits, and MPI's progress takes longer than the send.
	if (sends > 0 && e->sends <= SENDS) {
		*count = o.n;
		return 0;
	}
	if (++e->unmoved > UNMOVED && move(e) != 0)
		return -1;
	if (e->vain >= TEST_ALL) {
		// A message that MPI did not send eagerly may end after those that were matched later.
		e->vain = 0;
		for (int i = 0; i < e->nqueues; i++)
			if (look_behind(e, &o, &e->queues[i]) != 0)
				return -1;
	}
	// Behind what was there when the call began there may be more. What the call has waited for somebody may
	// wait for, and another look takes as long as a good part of a message's way.
	for (int vain = 0, some = 0; o.n < most && vain < (some ? 1 : looks);) {
		int found;
		if (look(e, &o, &found) != 0)
			return -1;
		if (e->njoining > 0 && look_joining(e, &o, &found) != 0)
			return -1;
		some |= found > 0;
		vain += found == 0;
		e->vain = found > 0 ? 0 : e->vain + 1;
	}
	*count = o.n;
	return 0;
}

// Memory that the processes of a host share: a window, with one epoch from when it is made until the end
// is closed. Libraries put headers of their own before the memory: what is used of it begins at the
// next page.

static int64_t to_page(const void *memory)
{
	uintptr_t page = sysconf(_SC_PAGESIZE);
	return -(uintptr_t)memory & (page - 1);
}

// with_page returns how much to ask for to have size bytes from a page on.
static int64_t with_page(int64_t size) { return size > 0 ? size + sysconf(_SC_PAGESIZE) : 0; }

// shm returns where the library keeps shared memory: Open MPI where it is told to. What does not fit ends
// a process as it is first touched, so it is looked at before.
static const char *shm(void)
{
#ifdef OPEN_MPI
	const char *dir = getenv("OMPI_MCA_osc_sm_backing_directory");
	if (dir && *dir)
		return dir;
#endif
	return "/dev/shm";
}

// room returns what is left there, less a part for what the library itself will touch; as much as
// anybody wants if there is no such thing.
static int64_t room(void)
{
	struct statvfs v;
	if (statvfs(shm(), &v) != 0 || v.f_blocks == 0)
		return INT64_MAX;
	int64_t left = (int64_t)v.f_bavail * v.f_frsize;
	return left - left / 16;
}

// make_shared makes the window of a host's processes.
static int make_shared(aqmpi_end *e, MPI_Comm host, int64_t bytes, void **begin)
{
	MPI_Info info;
	int *model, known;
	CALL(MPI_Info_create, (&info));
	CALL(MPI_Info_set, (info, "alloc_shared_noncontig", "true"));
	CALL(MPI_Win_allocate_shared, (bytes, 1, info, host, begin, &e->window));
	CALL(MPI_Info_free, (&info));
	CALL(MPI_Win_get_attr, (e->window, MPI_WIN_MODEL, &model, &known));
	if (!known || *model != MPI_WIN_UNIFIED)
		return unfit("MPI_Win_allocate_shared: the processes of a host see different copies; set rma=off");
	CALL(MPI_Win_set_errhandler, (e->window, MPI_ERRORS_RETURN));
	CALL(MPI_Win_lock_all, (MPI_MODE_NOCHECK, e->window));
	return 0;
}

// find_near writes where the segments are, of which the caller's has size bytes in the window that
// begins at begin.
static int find_near(aqmpi_end *e, MPI_Comm host, int n, int64_t size, void *begin, aqmpi_near *near)
{
	aqmpi_near mine = {.len = size, .memory = (void *)to_page(begin)}; // in its part of the window, at first
	int rank, unit;
	MPI_Aint bytes;
	CALL(MPI_Comm_rank, (world_comm, &rank));
	mine.rank = rank;
	CALL(MPI_Allgather, (&mine, sizeof mine, MPI_BYTE, near, sizeof mine, MPI_BYTE, host));
	for (int i = 0; i < n; i++) {
		CALL(MPI_Win_shared_query, (e->window, i, &bytes, &unit, &begin));
		near[i].memory = (char *)begin + (intptr_t)near[i].memory;
	}
	return 0;
}

static int share_on(aqmpi_end *e, MPI_Comm host, int64_t size, aqmpi_near *near, aqmpi_shared *s)
{
	int n;
	int64_t bytes = with_page(size), left = room();
	void *begin;
	CALL(MPI_Comm_size, (host, &n));
	CALL(MPI_Comm_rank, (host, &s->place));
	CALL(MPI_Allreduce, (&bytes, &s->need, 1, MPI_INT64_T, MPI_SUM, host));
	CALL(MPI_Allreduce, (&left, &s->room, 1, MPI_INT64_T, MPI_MIN, host));
	if (n == 1 || s->need == 0 || s->need > s->room)
		return 0;
	if (make_shared(e, host, bytes, &begin) != 0 || find_near(e, host, n, size, begin, near) != 0)
		return -1;
	s->n = n;
	return 0;
}

static int share(aqmpi_end *e, int64_t size, aqmpi_near *near, aqmpi_shared *s)
{
	MPI_Comm host;
	memset(s, 0, sizeof *s);
	if (on_host(e->comm[0], &host) != 0)
		return -1;
	int result = share_on(e, host, size, near, s);
	CALL(MPI_Comm_free, (&host));
	return result;
}

static int close_window(aqmpi_end *e)
{
	if (e->window == MPI_WIN_NULL)
		return 0;
	CALL(MPI_Win_unlock_all, (e->window));
	CALL(MPI_Win_free, (&e->window));
	return 0;
}

static void release(aqmpi_end *e)
{
	free(e->to);
	free(e->from);
	free(e->sent);
	free(e->req);
	free(e->tests);
	free(e->index);
	free(e->status);
	free(e->late);
	free(e->joining);
	free(e->joining_id);
	for (int i = 0; i < e->nqueues; i++)
		free(e->queues[i].ring);
	free(e->queues);
	free(e->queue_of);
	free(e);
}

// among gives the end the tables of ranks of a group, and its first communicator.
static int among(aqmpi_end *e, const int *group, int n)
{
	int size;
	MPI_Group all, ours;
	CALL(MPI_Comm_size, (world_comm, &size));
	if (!(e->to = malloc(size * sizeof *e->to)) || !(e->from = malloc(n * sizeof *e->from)))
		return unfit("no memory");
	memcpy(e->from, group, n * sizeof *group);
	CALL(MPI_Comm_group, (world_comm, &all));
	CALL(MPI_Group_incl, (all, n, group, &ours));
	CALL(MPI_Comm_create_group, (world_comm, ours, 0, &e->comm[0]));
	int result = translate(all, size, NULL, ours, e->to);
	CALL(MPI_Group_free, (&all));
	CALL(MPI_Group_free, (&ours));
	return result;
}

// connect gives the end its communicators.
static int connect_end(aqmpi_end *e, const int *group, int n)
{
	if (!group)
		CALL(MPI_Comm_dup, (world_comm, &e->comm[0]));
	else if (among(e, group, n) != 0)
		return -1;
	for (int l = 1; l < LANES; l++)
		CALL(MPI_Comm_dup, (e->comm[0], &e->comm[l]));
	for (int l = 0; l < LANES; l++)
		CALL(MPI_Comm_set_errhandler, (e->comm[l], MPI_ERRORS_RETURN));
	CALL(MPI_Comm_size, (e->comm[0], &e->ranks));
	e->queue_of = calloc(LANES * (e->ranks + 1), sizeof *e->queue_of);
	e->sent = calloc(e->ranks, sizeof *e->sent);
	return e->queue_of && e->sent ? 0 : unfit("no memory");
}

static int open_end(const int *group, int n, aqmpi_end **end)
{
	aqmpi_end *e = calloc(1, sizeof *e);
	*end = NULL;
	if (!e)
		return unfit("no memory");
	for (int l = 0; l < LANES; l++)
		e->comm[l] = MPI_COMM_NULL;
	e->joint = MPI_COMM_NULL;
	e->window = MPI_WIN_NULL;
	if (connect_end(e, group, n) != 0) {
		release(e);
		return -1;
	}
	*end = e;
	return 0;
}

// cancel ends a receive that nobody will match.
static int cancel(MPI_Request *req)
{
	if (*req == MPI_REQUEST_NULL)
		return 0;
	CALL(MPI_Cancel, (req));
	CALL(MPI_Wait, (req, MPI_STATUS_IGNORE));
	return 0;
}

static int cancel_all(aqmpi_end *e)
{
	int result = 0;
	for (int i = 0; i < e->n && result == 0; i++)
		if (e->tests[i].receive)
			result = cancel(&e->req[i]);
	for (int i = 0; i < e->nqueues; i++)
		for (int j = 0; j < e->queues[i].n && result == 0; j++)
			result = cancel(&at(&e->queues[i], j)->req);
	return result;
}

// unwanted is a message for which no receive was posted.
typedef struct {
	MPI_Request req; // MPI_REQUEST_NULL: there is none
	char *buf;
} unwanted;

// drop begins to receive such a message, or goes on to.
static int drop(aqmpi_end *e, unwanted *u)
{
	int yes, count;
	MPI_Status s;
	if (u->req != MPI_REQUEST_NULL) {
		CALL(MPI_Test, (&u->req, &yes, MPI_STATUS_IGNORE));
		e->received += yes;
		return 0;
	}
	for (int l = 0; l < LANES; l++) {
		CALL(MPI_Iprobe, (MPI_ANY_SOURCE, MPI_ANY_TAG, e->comm[l], &yes, &s));
		if (!yes)
			continue;
		CALL(MPI_Get_count, (&s, MPI_BYTE, &count));
		GROW(u->buf, count + 1); // not 0
		CALL(MPI_Irecv, (u->buf, count, MPI_BYTE, s.MPI_SOURCE, s.MPI_TAG, e->comm[l], &u->req));
		return 0;
	}
	return 0;
}

// finish_messages completes what was sent and receives all that others have sent, and waits for the collective
// operations, unless some ranks have begun more of these than others: *even tells. Nothing may be left: MPICH gives
// the numbers of freed communicators to new ones, whose receives would match a message of an old one.
static int finish_messages(aqmpi_end *e, unwanted *u, int *even)
{
	aqmpi_done ignored[64];
	MPI_Request meetings[2];
	MPI_Status statuses[2];
	int64_t mine[2] = {e->joined, -e->joined}, least[2], coming;
	CALL(MPI_Iallreduce, (mine, least, 2, MPI_INT64_T, MPI_MIN, e->comm[0], &meetings[0]));
	CALL(MPI_Ireduce_scatter_block, (e->sent, &coming, 1, MPI_INT64_T, MPI_SUM, e->comm[0], &meetings[1]));
	for (int met = 0, n; !met || e->sends > 0 || e->received < coming || (e->njoining > 0 && *even);) {
		if (progress(e, NULL, 0, ignored, 64, 0, &n) != 0 || drop(e, u) != 0)
			return -1;
		if (!met)
			CALL(MPI_Testall, (2, meetings, &met, statuses));
		if (met)
			*even = least[0] == -least[1];
		sched_yield();
	}
	return 0;
}

static int finish(aqmpi_end *e, int *even)
{
	unwanted u = {.req = MPI_REQUEST_NULL};
	int result = finish_messages(e, &u, even);
	if (result == 0)
		free(u.buf);
	return result;
}

static int disconnect(aqmpi_end *e)
{
	for (int l = 0; l < LANES; l++)
		CALL(MPI_Comm_free, (&e->comm[l]));
	return 0;
}

static int close_end(aqmpi_end *e, int drain)
{
	int even = 1, result = drain ? finish(e, &even) : 0;
	if (result == 0)
		result = cancel_all(e);
	if (result == 0 && drain && even)
		result = leave_joint(e);
	if (result == 0 && drain)
		result = close_window(e);
	if (result == 0 && drain)
		result = disconnect(e);
	release(e);
	return result == 0 && !even ? unfit("not all ranks have begun the same collective operations") : result;
}

static const aqmpi_table functions = {
	.version = AQMPI_VERSION,
	.error = error,
	.library = library,
	.init = init,
	.finalize = finalize,
	.world = world,
	.local = local,
	.abort = abort_all,
	.gather = gather,
	.gathered = gathered,
	.open = open_end,
	.progress = progress,
	.share = share,
	.join = join,
	.collect = collect,
	.close = close_end,
};

__attribute__((visibility("default"))) const aqmpi_table *aqmpi_functions(void) { return &functions; }
