// Segments: those of the library's memory, and those of the program's. A process has one at most, once the job has it.

#include "ex.h"
#include "_cgo_export.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uintptr_t down(uintptr_t a) { return a & ~(uintptr_t)(GASNET_PAGESIZE - 1); }
static uintptr_t up(uintptr_t a) { return down(a + GASNET_PAGESIZE - 1); }

gex_Segment_t gex_EP_QuerySegment(gex_EP_t ep) {
	if (ep->segment != NULL) {
		return ep->segment;
	}
	return gasneti_stage == GASNETI_ATTACHED && gasneti_job.segments[gasneti_job.rank].size > 0 ? &gasneti_ex_segment : NULL;
}

int gex_Segment_Attach(gex_Segment_t *segment_p, gex_TM_t tm, uintptr_t length) {
	if (gasneti_stage != GASNETI_CONNECTED) {
		return GASNET_ERR_NOT_INIT;
	}
	if (segment_p == NULL || tm != &gasneti_ex_world || length == 0 || length % GASNET_PAGESIZE != 0 || length > gasneti_job.max_segment) {
		return GASNET_ERR_BAD_ARG;
	}
	if (gasneti_ex_ep.segment != NULL) {
		return gasneti_ex_refuse("gex_Segment_Attach", "the endpoint has a segment already, by gex_EP_BindSegment; publish that");
	}
	int err = GASNETI_GO(aqAttach(gasneti_self(), NULL, 0, length));
	*segment_p = gex_EP_QuerySegment(&gasneti_ex_ep);
	return err;
}

// Memory whose pages cannot be exchanged: of the calling thread's stack, and pages at the memory's ends where other variables of
// the program, or of a library, lie too.
struct fixed {
	uintptr_t from, to;
	bool found;
};

static int look_at_object(struct dl_phdr_info *info, size_t size, void *arg) {
	(void)size;
	struct fixed *f = arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t first = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, last = first + info->dlpi_phdr[i].p_memsz;
		if (info->dlpi_phdr[i].p_type == PT_LOAD && f->from < last && first < f->to && (f->from % GASNET_PAGESIZE != 0 || f->to % GASNET_PAGESIZE != 0)) {
			f->found = true;
		}
	}
	return 0;
}

static bool is_fixed(void *addr, uintptr_t length) {
	struct fixed f = {(uintptr_t)addr, (uintptr_t)addr + length, false};
	dl_iterate_phdr(look_at_object, &f);
	pthread_attr_t attr;
	void *stack;
	size_t size;
	if (pthread_getattr_np(pthread_self(), &attr) == 0) {
		if (pthread_attr_getstack(&attr, &stack, &size) == 0 && f.from < (uintptr_t)stack + size && (uintptr_t)stack < f.to) {
			f.found = true;
		}
		pthread_attr_destroy(&attr);
	}
	return f.found;
}

int gex_Segment_Create(gex_Segment_t *segment_p, gex_Client_t client, gex_Addr_t address, uintptr_t length, gex_MK_t kind, gex_Flags_t flags) {
	const char *call = "gex_Segment_Create";
	(void)flags;
	if (segment_p == NULL || client == NULL || length == 0 || length > UINTPTR_MAX - (uintptr_t)address) {
		return GASNET_ERR_BAD_ARG;
	}
	if (kind != GEX_MK_HOST) {
		return gasneti_ex_refuse(call, "the library has no memory of devices; use GEX_MK_HOST");
	}
	uintptr_t bytes = up((uintptr_t)address + length) - down((uintptr_t)address);
	if (bytes > gasneti_job.max_segment) {
		return gasneti_ex_refuse(call, "the segment is larger than gasnet_getMaxLocalSegmentSize says");
	}
	if (address != NULL && is_fixed(address, length)) {
		return gasneti_ex_refuse(call, "the memory is on the stack, or shares pages with other variables; allocate it, or give it whole pages");
	}
	struct gasneti_ex_segment *s = calloc(1, sizeof *s);
	if (s == NULL) {
		return gasneti_ex_refuse(call, "there is no memory");
	}
	if (address == NULL) {
		address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (address == MAP_FAILED) {
			free(s);
			return gasneti_ex_refuse(call, strerror(errno));
		}
		s->pages = address;
		s->bytes = bytes;
	}
	s->addr = address;
	s->size = length;
	*segment_p = s;
	return GASNET_OK;
}

void gex_Segment_Destroy(gex_Segment_t s, gex_Flags_t flags) {
	const char *call = "gex_Segment_Destroy";
	(void)flags;
	if (s == NULL || s == &gasneti_ex_segment || s == gasneti_ex_ep.segment) {
		gasneti_misuse(call, s == NULL ? "the segment is GEX_SEGMENT_INVALID" : "the segment is the endpoint's, which keeps it until the job ends");
	}
	if (s->pages != NULL) {
		munmap(s->pages, s->bytes);
	}
	free(s);
}

int gex_EP_BindSegment(gex_EP_t ep, gex_Segment_t s, gex_Flags_t flags) {
	const char *call = "gex_EP_BindSegment";
	(void)flags;
	if (ep != &gasneti_ex_ep || s == NULL) {
		gasneti_misuse(call, "the endpoint or the segment is none of the process's; gex_Segment_Create makes a segment");
	}
	if (gex_EP_QuerySegment(ep) != NULL) {
		gasneti_misuse(call, "the endpoint has a segment already");
	}
	if (gasneti_stage == GASNETI_ATTACHED) {
		return gasneti_ex_refuse(call, "the ranks have published their segments already; bind before that");
	}
	ep->segment = s;
	return GASNET_OK;
}

int gex_EP_PublishBoundSegment(gex_TM_t tm, gex_EP_t *eps, size_t num_eps, gex_Flags_t flags) {
	const char *call = "gex_EP_PublishBoundSegment";
	(void)flags;
	int mine = 0;
	if (tm == GEX_TM_INVALID) {
		return GASNET_ERR_BAD_ARG;
	}
	for (size_t i = 0; i < num_eps; i++) {
		if (eps == NULL || eps[i] != &gasneti_ex_ep) {
			return GASNET_ERR_BAD_ARG;
		}
		mine = gasneti_ex_ep.segment != NULL;
	}
	gasneti_need_attached(call);
	if (!GASNETI_GO(aqExAny(gasneti_self(), tm->number, mine)) || gasneti_stage == GASNETI_ATTACHED) {
		return GASNET_OK; // there is nothing to be published, or all have it
	}
	if (tm->size != gasneti_job.size) {
		return gasneti_ex_refuse(call, "the team is not all ranks, which make their segments together");
	}
	gex_Segment_t s = gasneti_ex_ep.segment;
	GASNETI_GO_VOID(aqExPublish(gasneti_self(), s == NULL ? NULL : s->addr, s == NULL ? 0 : s->size));
	return GASNET_OK;
}

int gasneti_alias(void *to, void *own, size_t n, int replace) {
	memcpy(own, to, n);
	if (mremap(own, 0, n, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED) {
		return 0;
	}
	if (errno != EINVAL || !replace) {
		return errno;
	}
	// Memory of one process has no second address. Other memory in its place has.
	if (mmap(own, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
		return errno;
	}
	memcpy(own, to, n);
	return mremap(own, 0, n, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED ? errno : 0;
}

// The segment of a job's rank, and where it is in this process if it is within reach; false if there is none.
static int bound(gasnet_node_t node, void **owneraddr_p, void **localaddr_p, uintptr_t *size_p) {
	const struct gasneti_ex_segment *created = gasneti_ex_ep.segment;
	gasnet_seginfo_t s = {NULL, 0};
	void *here = NULL;
	if (gasneti_job.segments != NULL) {
		const gasnet_nodeinfo_t *its = &gasneti_job.nodes[node], *own = &gasneti_job.nodes[gasneti_job.rank];
		s = gasneti_job.segments[node];
		here = its->supernode == own->supernode ? (void *)((uintptr_t)s.addr + its->offset) : NULL;
	} else if (node == gasneti_job.rank && created != NULL) {
		s = (gasnet_seginfo_t){created->addr, created->size};
		here = s.addr;
	}
	if (s.size == 0) {
		return 0;
	}
	if (owneraddr_p != NULL) {
		*owneraddr_p = s.addr;
	}
	if (localaddr_p != NULL) {
		*localaddr_p = here;
	}
	if (size_p != NULL) {
		*size_p = s.size;
	}
	return 1;
}

int gex_Segment_QueryBound(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p, void **localaddr_p, uintptr_t *size_p) {
	return !bound(gasneti_ex_jobrank("gex_Segment_QueryBound", tm, rank), owneraddr_p, localaddr_p, size_p);
}

gex_Event_t gex_EP_QueryBoundSegmentNB(gex_TM_t tm, gex_Rank_t rank, void **owneraddr_p, void **localaddr_p, uintptr_t *size_p, gex_Flags_t flags) {
	(void)flags;
	if (!bound(gasneti_ex_jobrank("gex_EP_QueryBoundSegmentNB", tm, rank), owneraddr_p, localaddr_p, size_p)) {
		if (owneraddr_p != NULL) {
			*owneraddr_p = NULL;
		}
		if (localaddr_p != NULL) {
			*localaddr_p = NULL;
		}
		if (size_p != NULL) {
			*size_p = 0;
		}
	}
	return GEX_EVENT_INVALID;
}

gex_Client_t gex_Segment_QueryClient(gex_Segment_t s) {
	(void)s;
	return &gasneti_ex_client;
}

gex_Flags_t gex_Segment_QueryFlags(gex_Segment_t s) {
	(void)s;
	return 0;
}

void *gex_Segment_QueryAddr(gex_Segment_t s) {
	return s == &gasneti_ex_segment ? gasneti_job.segments[gasneti_job.rank].addr : s->addr;
}

uintptr_t gex_Segment_QuerySize(gex_Segment_t s) {
	return s == &gasneti_ex_segment ? gasneti_job.segments[gasneti_job.rank].size : s->size;
}
