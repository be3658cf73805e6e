//go:build cgo

package libpmix

/*
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// What is used of pmix_common.h. Types and numbers are the same in OpenPMIx 3, 4 and 5, whose libraries have one SONAME.

typedef struct { char space[256]; uint32_t rank; } proc; // pmix_proc_t

typedef struct {                                         // pmix_value_t
	uint16_t type;
	union {
		bool flag;
		uint32_t number;
		struct { char *bytes; size_t size; } object;
		struct { char *name, *value; char separator; } largest; // pmix_envar_t
	} data;
} value;

typedef struct { char key[512]; uint32_t flags; value value; } info; // pmix_info_t

enum { TYPE_BOOL = 1, TYPE_UINT32 = 14, TYPE_OBJECT = 27 }; // pmix_data_type_t
enum { EVERYBODY = UINT32_MAX - 1 };                        // PMIX_RANK_WILDCARD
enum { LOST_SERVER = -101, LOST = -61 };                    // PMIX_ERR_LOST_CONNECTION_TO_SERVER until 3, PMIX_ERR_LOST_CONNECTION
enum { BAD_TYPE = -18, NO_RESOURCE = -29 };                 // PMIX_ERR_TYPE_MISMATCH, PMIX_ERR_OUT_OF_RESOURCE
static const uint8_t everywhere = 3;                        // PMIX_GLOBAL

typedef void done(int status, void *results, size_t n, void *then, void *with, void *of); // pmix_event_notification_cbfunc_fn_t
typedef void handler(size_t id, int status, const proc *from, info *about, size_t n, info *results, size_t m, done *ended, void *of);

static struct {
	const char *(*version)(void);
	const char *(*error)(int);
	int (*init)(proc *, info *, size_t);
	int (*finalize)(const info *, size_t);
	int (*abort)(int, const char *, proc *, size_t);
	int (*put)(uint8_t, const char *, value *);
	int (*commit)(void);
	int (*fence)(const proc *, size_t, const info *, size_t);
	int (*get)(const proc *, const char *, const info *, size_t, value **);
	int (*handle)(int *, size_t, info *, size_t, handler *, void *, void *);
} pmix;

static proc me;
static atomic_int news = -1; // a pipe that is closed when the launcher is lost

// open_library opens the library, and returns NULL or why it cannot. Its plug-ins need what it has.
static const char *open_library(void)
{
	void *so = dlopen("libpmix.so.2", RTLD_NOW | RTLD_GLOBAL);
	if (!so)
		return dlerror();
	const struct { const char *name; void *to; } functions[] = {
		{"PMIx_Get_version", &pmix.version}, {"PMIx_Error_string", &pmix.error},
		{"PMIx_Init", &pmix.init}, {"PMIx_Finalize", &pmix.finalize}, {"PMIx_Abort", &pmix.abort},
		{"PMIx_Put", &pmix.put}, {"PMIx_Commit", &pmix.commit}, {"PMIx_Fence", &pmix.fence}, {"PMIx_Get", &pmix.get},
		{"PMIx_Register_event_handler", &pmix.handle},
	};
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *f = dlsym(so, functions[i].name);
		if (!f)
			return dlerror();
		memcpy(functions[i].to, &f, sizeof f);
	}
	return NULL;
}

static const char *version_of(void) { return pmix.version(); }
static const char *error_of(int status) { return pmix.error(status); }

// heard takes in what the launcher says, on a thread of the library.
static void heard(size_t id, int status, const proc *from, info *about, size_t n, info *results, size_t m, done *ended, void *of)
{
	int pipe = status == LOST || status == LOST_SERVER ? atomic_exchange(&news, -1) : -1;
	if (pipe >= 0)
		close(pipe);
	if (ended)
		ended(0, NULL, 0, NULL, NULL, of);
}

// join makes this process a client of its launcher. What is to be read of news ends when that is lost.
static int join(uint32_t *rank, uint32_t *size, int *from)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return NO_RESOURCE;
	*from = ends[0];
	news = ends[1];
	int status = pmix.init(&me, NULL, 0);
	if (status != 0)
		return status;
	pmix.handle(NULL, 0, NULL, 0, heard, NULL, NULL);
	*rank = me.rank;
	proc all = me;
	all.rank = EVERYBODY;
	value *v;
	status = pmix.get(&all, "pmix.job.size", NULL, 0, &v);
	if (status != 0)
		return status;
	status = v->type == TYPE_UINT32 ? 0 : BAD_TYPE;
	*size = v->data.number;
	free(v);
	return status;
}

static int leave(void) { return pmix.finalize(NULL, 0); }
static int end(int status, const char *reason) { return pmix.abort(status, reason, NULL, 0); }

static int put(const char *key, void *bytes, size_t size)
{
	value v = {.type = TYPE_OBJECT, .data.object = {bytes, size}};
	int status = pmix.put(everywhere, key, &v);
	return status == 0 ? pmix.commit() : status;
}

static int fence(int collect)
{
	info i = {.key = "pmix.collect", .value = {.type = TYPE_BOOL, .data.flag = true}};
	return pmix.fence(NULL, 0, collect ? &i : NULL, collect ? 1 : 0);
}

// get returns bytes that the caller frees.
static int get(uint32_t rank, const char *key, char **bytes, size_t *size)
{
	proc p = me;
	p.rank = rank;
	value *v;
	int status = pmix.get(&p, key, NULL, 0, &v);
	if (status != 0)
		return status;
	status = v->type == TYPE_OBJECT ? 0 : BAD_TYPE;
	if (status == 0) {
		*bytes = v->data.object.bytes;
		*size = v->data.object.size;
	}
	free(v);
	return status;
}
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"sync"
	"unsafe"
)

// opened opens the library at the first call, and returns why it cannot be used.
var opened = sync.OnceValue(func() error {
	if why := C.open_library(); why != nil {
		return fmt.Errorf("the PMIx library cannot be opened: %s; install it (Debian: libpmix2), or have LD_LIBRARY_PATH name the folder of the one that the launcher has", C.GoString(why))
	}
	return checkVersion(C.GoString(C.version_of()))
})

// oldest is the major version from which on the library's types are those above.
const oldest = 3

// checkVersion returns an error for a library that is too old, by what it says of itself.
func checkVersion(text string) error {
	major := regexp.MustCompile(`\d+`).FindString(text)
	if n, err := strconv.Atoi(major); err != nil || n < oldest {
		return fmt.Errorf("the PMIx library is %.80q; %d is the oldest that can be used", text, oldest)
	}
	return nil
}

// Usable returns nil if the library can be opened here, and else why not.
func Usable() error { return opened() }

// Client is this process as a client of its launcher. Calls of different goroutines may overlap. One that waits for the launcher returns
// an error when that is lost.
type Client struct {
	Rank, Size int
	news       *os.File // ends when the launcher is lost
}

// Open makes this process a client of the launcher that has started it. It may be called once.
func Open() (*Client, error) {
	if err := opened(); err != nil {
		return nil, err
	}
	var rank, size C.uint32_t
	var news C.int
	if status := C.join(&rank, &size, &news); status != 0 {
		return nil, failure("PMIx_Init", status)
	}
	if size > math.MaxInt32 || rank >= size {
		return nil, fmt.Errorf("the launcher says that this process is rank %d of %d", rank, size)
	}
	return &Client{Rank: int(rank), Size: int(size), news: os.NewFile(uintptr(news), "PMIx")}, nil
}

// failure is the error of a call.
func failure(call string, status C.int) error {
	if status == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s", call, C.GoString(C.error_of(status)))
}

// Put gives a value to the other processes of the job, which can get it once all have called Fence. A key has a value once.
func (c *Client) Put(key string, value []byte) error {
	k, v := C.CString(key), C.CBytes(value)
	defer C.free(unsafe.Pointer(k))
	defer C.free(v)
	return failure("PMIx_Put "+key, C.put(k, v, C.size_t(len(value))))
}

// Fence returns when all processes of the job have called it; with collect, what all have put is then near.
func (c *Client) Fence(collect bool) error {
	var flag C.int
	if collect {
		flag = 1
	}
	return failure("PMIx_Fence", C.fence(flag))
}

// Get returns what a process has put.
func (c *Client) Get(rank int, key string) ([]byte, error) {
	k := C.CString(key)
	defer C.free(unsafe.Pointer(k))
	var bytes *C.char
	var size C.size_t
	if status := C.get(C.uint32_t(rank), k, &bytes, &size); status != 0 {
		return nil, failure(fmt.Sprintf("PMIx_Get of what rank %d gave as %s", rank, key), status)
	}
	defer C.free(unsafe.Pointer(bytes))
	if size > math.MaxInt32 {
		return nil, fmt.Errorf("PMIx_Get: %d bytes of rank %d as %s", size, rank, key)
	}
	return C.GoBytes(unsafe.Pointer(bytes), C.int(size)), nil
}

// Abort asks the launcher to end all processes of the job with a status. It may return before they end.
func (c *Client) Abort(status int, reason string) error {
	r := C.CString(reason)
	defer C.free(unsafe.Pointer(r))
	return failure("PMIx_Abort", C.end(C.int(status), r))
}

// Wait blocks until the launcher is lost, or the client finalised, and returns an error then.
func (c *Client) Wait() error {
	c.news.Read(make([]byte, 1)) // nothing is ever written
	return errors.New("the PMIx library has lost its connection")
}

// Finalize says that this process has finished in good order. It may be called once; no call follows it.
func (c *Client) Finalize() error {
	err := failure("PMIx_Finalize", C.leave())
	c.news.Close()
	return err
}
