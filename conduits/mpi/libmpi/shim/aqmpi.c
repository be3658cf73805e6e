// Compiled by scripts/mpi-shims.sh with the mpicc of each MPI library; see aqmpi.h.
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};

// keep_handlers puts back the signal handlers that the library has replaced, as it may do for its
// back traces: the Go runtime needs its own. One that it has added must run on the signal
// stack, since the threads' stacks may be small.
static void keep_handlers(const struct sigaction *before)
{
	for (int s = 1; s < NSIG; s++) {
		struct sigaction now;
		if (sigaction(s, NULL, &now) != 0 || now.sa_handler == before[s].sa_handler)
			continue;
		if (before[s].sa_handler != SIG_DFL && before[s].sa_handler != SIG_IGN) {
			sigaction(s, &before[s], NULL);
		} else if (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN) {
			now.sa_flags |= SA_ONSTACK;
			sigaction(s, &now, NULL);
		}
	}
}

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
		struct sigaction before[NSIG];
		memset(before, 0, sizeof before);
		for (int s = 1; s < NSIG; s++)
			sigaction(s, NULL, &before[s]);
		CALL(MPI_Init_thread, (NULL, NULL, levels[want], &provided));
		keep_handlers(before);
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

static int local(int32_t *ranks, int *n)
{
	MPI_Comm host;
	MPI_Group here, all;
	int me;
	CALL(MPI_Comm_rank, (world_comm, &me));
	CALL(MPI_Comm_split_type, (world_comm, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, &host));
	CALL(MPI_Comm_size, (host, n));
	CALL(MPI_Comm_group, (host, &here));
	CALL(MPI_Comm_group, (world_comm, &all));
	int result = translate(here, *n, NULL, all, ranks);
	CALL(MPI_Group_free, (&here));
	CALL(MPI_Group_free, (&all));
	CALL(MPI_Comm_free, (&host));
	return result;
}

static int abort_all(int status)
{
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

// Ends. A receive from any rank that is posted under a tag of a lane waits in that lane's queue. MPI
// matches such receives in the order of their posts, and short messages end as they are matched,
// so that it suffices to test the first of each queue, and all of them only now and then.

enum { LANES = 2 };    // tags 0 and 1 are lanes
enum { SENDS = 16 };    // under way, up to which a call that sends does not test
enum { TEST_ALL = 64 }; // polls in vain, after which whole queues are tested

// queue is a ring of receives that wait behind the first.
typedef struct {
	MPI_Request *req; // MPI_REQUEST_NULL: has ended
	uint64_t *id;
	int first, n, size;
} queue;

// known is what is known of a request.
typedef struct {
	uint64_t id;
	int receive;
} known;

struct aqmpi_end {
	MPI_Comm comm;
	int *to, *from; // world rank to rank in comm and back; NULL: the same
	int rank;

	// The first LANES requests are the first receives of the lanes, or MPI_REQUEST_NULL.
	MPI_Request *req;
	known *what;
	int n, size; // requests, room for them
	int sends;   // among them
	queue lane[LANES];

	int *index; // what MPI_Testsome returns
	MPI_Status *status;
	int tested; // room for that

	aqmpi_done *late; // ended, but the caller had no room
	int nlate, latesize;
	unsigned vain; // polls without an end
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

// room_for_tests makes room for the results of n requests.
static int room_for_tests(aqmpi_end *e, int n)
{
	if (n <= e->tested)
		return 0;
	n = 2 * n;
	GROW(e->index, n);
	GROW(e->status, n);
	e->tested = n;
	return 0;
}

static int add(aqmpi_end *e, MPI_Request req, uint64_t id, int receive)
{
	if (e->n == e->size) {
		int size = 2 * e->size;
		GROW(e->req, size);
		GROW(e->what, size);
		e->size = size;
		if (room_for_tests(e, size) != 0)
			return -1;
	}
	e->req[e->n] = req;
	e->what[e->n++] = (known){id, receive};
	e->sends += !receive;
	return 0;
}

static int enqueue(aqmpi_end *e, int lane, MPI_Request req, uint64_t id)
{
	queue *q = &e->lane[lane];
	if (e->req[lane] == MPI_REQUEST_NULL && q->n == 0) {
		e->req[lane] = req;
		e->what[lane] = (known){id, 1};
		return 0;
	}
	if (q->n == q->size) {
		int old = q->size, size = old ? 2 * old : 64;
		GROW(q->req, size);
		GROW(q->id, size);
		// What had wrapped round goes behind the old end.
		memcpy(q->req + old, q->req, q->first * sizeof *q->req);
		memcpy(q->id + old, q->id, q->first * sizeof *q->id);
		q->size = size;
		if (room_for_tests(e, size) != 0)
			return -1;
	}
	int last = (q->first + q->n++) & (q->size - 1);
	q->req[last] = req;
	q->id[last] = id;
	return 0;
}

// advance has the next receive of a lane be its first.
static void advance(aqmpi_end *e, int lane)
{
	queue *q = &e->lane[lane];
	e->req[lane] = MPI_REQUEST_NULL;
	while (q->n > 0 && e->req[lane] == MPI_REQUEST_NULL) {
		e->req[lane] = q->req[q->first];
		e->what[lane] = (known){q->id[q->first], 1};
		q->first = (q->first + 1) & (q->size - 1);
		q->n--;
	}
}

static int post(aqmpi_end *e, const aqmpi_post *p)
{
	MPI_Request req;
	int peer = p->peer;
	if (peer != AQMPI_ANY && e->to)
		peer = e->to[peer];
	if (!p->receive) {
		CALL(MPI_Isend, (p->buf, p->len, MPI_BYTE, peer, p->tag, e->comm, &req));
		return add(e, req, p->id, 0);
	}
	CALL(MPI_Irecv, (p->buf, p->len, MPI_BYTE, peer == AQMPI_ANY ? MPI_ANY_SOURCE : peer, p->tag, e->comm, &req));
	if (peer == AQMPI_ANY && p->tag < LANES)
		return enqueue(e, p->tag, req, p->id);
	return add(e, req, p->id, 1);
}

// output is where what has ended goes.
typedef struct {
	aqmpi_done *done;
	int most, n;
} output;

static int ended(aqmpi_end *e, output *o, known what, const MPI_Status *s)
{
	aqmpi_done d = {.id = what.id};
	if (what.receive) {
		int count;
		CALL(MPI_Get_count, ((MPI_Status *)s, MPI_BYTE, &count));
		d.len = count;
		d.source = e->from ? e->from[s->MPI_SOURCE] : s->MPI_SOURCE;
		d.tag = s->MPI_TAG;
	}
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

// testsome is MPI_Testsome with its errors sorted out; there is room for n results.
static int testsome(aqmpi_end *e, MPI_Request *req, int n, int *count)
{
	int code = MPI_Testsome(n, req, count, e->index, e->status);
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

// test takes what has ended of the requests; more reports that the first receive of a lane has,
// so that the next may have as well.
static int test(aqmpi_end *e, output *o, int *more)
{
	int count;
	*more = 0;
	if (testsome(e, e->req, e->n, &count) != 0)
		return -1;
#ifdef OPEN_MPI
	// Open MPI looks first and makes progress then, so what that brought is there to be taken.
	if (count == 0 && testsome(e, e->req, e->n, &count) != 0)
		return -1;
#endif
	int loose = 0;
	for (int i = 0; i < count; i++) {
		int k = e->index[i];
		if (ended(e, o, e->what[k], &e->status[i]) != 0)
			return -1;
		if (k < LANES) {
			advance(e, k);
			*more = 1;
		} else {
			e->sends -= !e->what[k].receive;
			loose = 1;
		}
	}
	if (loose) {
		int kept = LANES;
		for (int k = LANES; k < e->n; k++)
			if (e->req[k] != MPI_REQUEST_NULL) {
				e->req[kept] = e->req[k];
				e->what[kept++] = e->what[k];
			}
		e->n = kept;
	}
	return 0;
}

// test_queues takes what has ended out of turn: a message that MPI did not send eagerly may end
// after those that were matched later.
static int test_queues(aqmpi_end *e, output *o)
{
	for (int lane = 0; lane < LANES; lane++) {
		queue *q = &e->lane[lane];
		for (int done = 0; done < q->n;) {
			int at = (q->first + done) & (q->size - 1), count;
			int n = q->n - done < q->size - at ? q->n - done : q->size - at;
			if (testsome(e, q->req + at, n, &count) != 0)
				return -1;
			for (int i = 0; i < count; i++)
				if (ended(e, o, (known){q->id[at + e->index[i]], 1}, &e->status[i]) != 0)
					return -1;
			done += n;
		}
	}
	return 0;
}

static int progress(aqmpi_end *e, const aqmpi_post *posts, int n, aqmpi_done *done, int most, int *count)
{
	output o = {done, most, 0};
	int sends = 0;
	for (int i = 0; i < n; i++) {
		if (post(e, &posts[i]) != 0)
			return -1;
		sends += !posts[i].receive;
	}
	if (e->nlate > 0) {
		o.n = e->nlate < most ? e->nlate : most;
		memcpy(done, e->late, o.n * sizeof *done);
		e->nlate -= o.n;
		memmove(e->late, e->late + o.n, e->nlate * sizeof *e->late);
	}
	// A call that sends looks for nothing, as long as few sends are under way: the caller polls anyway
	// when it waits, and MPI's progress takes longer than the send.
	if (sends > 0 && e->sends <= SENDS) {
		*count = o.n;
		return 0;
	}
	for (int more = 1; more && o.n < most;)
		if (test(e, &o, &more) != 0)
			return -1;
	if (o.n > 0) {
		e->vain = 0;
	} else if (++e->vain % TEST_ALL == 0 && test_queues(e, &o) != 0) {
		return -1;
	}
	*count = o.n;
	return 0;
}

static void release(aqmpi_end *e)
{
	free(e->to);
	free(e->from);
	free(e->req);
	free(e->what);
	free(e->index);
	free(e->status);
	free(e->late);
	for (int i = 0; i < LANES; i++) {
		free(e->lane[i].req);
		free(e->lane[i].id);
	}
	free(e);
}

// among gives the end the communicator of a group, and the tables of ranks.
static int among(aqmpi_end *e, const int *group, int n)
{
	int size;
	MPI_Group all, ours;
	CALL(MPI_Comm_size, (world_comm, &size));
	if (!(e->to = malloc(size * sizeof *e->to)) || !(e->from = malloc(n * sizeof *e->from)))
		return unfit("no memory");
	CALL(MPI_Comm_group, (world_comm, &all));
	CALL(MPI_Group_incl, (all, n, group, &ours));
	CALL(MPI_Comm_create_group, (world_comm, ours, 0, &e->comm));
	int result = translate(all, size, NULL, ours, e->to);
	memcpy(e->from, group, n * sizeof *group);
	CALL(MPI_Group_free, (&all));
	CALL(MPI_Group_free, (&ours));
	return result;
}

static int open_end(const int *group, int n, aqmpi_end **end)
{
	aqmpi_end *e = calloc(1, sizeof *e);
	*end = NULL;
	if (!e)
		return unfit("no memory");
	e->comm = MPI_COMM_NULL;
	e->n = LANES;
	e->size = 64;
	int code = MPI_SUCCESS;
	const char *call = "MPI_Comm_dup";
	if (grow(&e->req, e->size, sizeof *e->req) != 0 || grow(&e->what, e->size, sizeof *e->what) != 0 ||
		room_for_tests(e, e->size) != 0 || (group && among(e, group, n) != 0)) {
		release(e);
		return -1;
	}
	for (int i = 0; i < LANES; i++)
		e->req[i] = MPI_REQUEST_NULL;
	if (!group)
		code = MPI_Comm_dup(world_comm, &e->comm);
	if (code == MPI_SUCCESS) {
		call = "MPI_Comm_set_errhandler";
		code = MPI_Comm_set_errhandler(e->comm, MPI_ERRORS_RETURN);
	}
	if (code != MPI_SUCCESS) {
		release(e);
		return failed(call, code);
	}
	*end = e;
	return 0;
}

// cancel ends a request that nobody will match.
static int cancel(MPI_Request *req)
{
	if (*req == MPI_REQUEST_NULL)
		return 0;
	CALL(MPI_Cancel, (req));
	CALL(MPI_Wait, (req, MPI_STATUS_IGNORE));
	return 0;
}

// finish completes what was sent and then waits for the others, receiving what they send.
static int finish(aqmpi_end *e)
{
	aqmpi_done ignored[64];
	MPI_Request barrier = MPI_REQUEST_NULL;
	for (int all = 0, n; !all;) {
		if (progress(e, NULL, 0, ignored, 64, &n) != 0)
			return -1;
		if (e->sends == 0 && barrier == MPI_REQUEST_NULL)
			CALL(MPI_Ibarrier, (e->comm, &barrier));
		if (barrier != MPI_REQUEST_NULL)
			CALL(MPI_Test, (&barrier, &all, MPI_STATUS_IGNORE));
		sched_yield();
	}
	return 0;
}

static int close_end(aqmpi_end *e, int drain)
{
	int result = drain ? finish(e) : 0;
	for (int k = 0; k < e->n && result == 0; k++)
		if (k < LANES || e->what[k].receive)
			result = cancel(&e->req[k]);
	for (int lane = 0; lane < LANES; lane++)
		for (queue *q = &e->lane[lane]; q->n > 0 && result == 0; q->n--) {
			result = cancel(&q->req[q->first]);
			q->first = (q->first + 1) & (q->size - 1);
		}
	if (drain && result == 0) {
		int code = MPI_Comm_free(&e->comm);
		if (code != MPI_SUCCESS)
			result = failed("MPI_Comm_free", code);
	}
	release(e);
	return result;
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
	.close = close_end,
};

__attribute__((visibility("default"))) const aqmpi_table *aqmpi_functions(void) { return &functions; }
