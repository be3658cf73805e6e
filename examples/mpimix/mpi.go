//go:build cgo

package main

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>
#include "shim/mix.h"

static const mix_table *mix_open(const char *path)
{
	void *so = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	const mix_table *(*functions)(void) = so ? (const mix_table *(*)(void))dlsym(so, "mix_functions") : NULL;
	return functions ? functions() : NULL;
}
static const char *mix_error(void) { return dlerror(); }
static int mix_begin(const mix_table *t) { return t->begin(); }
static int mix_sum(const mix_table *t, uint64_t *value, int *n) { return t->sum(value, n); }
static int mix_end(const mix_table *t) { return t->end(); }
*/
import "C"

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"unsafe"
)

// library returns the name of the MPI library whose launcher has started this process, or "".
func library() string {
	for variable, name := range map[string]string{"OMPI_COMM_WORLD_SIZE": "openmpi", "PMI_SIZE": "mpich"} {
		if os.Getenv(variable) != "" {
			return name
		}
	}
	return ""
}

// overMPI reports whether there is an MPI job to take part in.
func overMPI() bool { return library() != "" }

// table returns what the example calls of the library, once the shim is open.
var table = sync.OnceValues(func() (*C.mix_table, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	path := C.CString(filepath.Join(filepath.Dir(exe), "libmpimix-"+library()+".so"))
	defer C.free(unsafe.Pointer(path))
	t := C.mix_open(path)
	if t == nil {
		return nil, errors.New(C.GoString(C.mix_error()))
	}
	return t, nil
})

// call has f call the library.
func call(what string, f func(*C.mix_table) C.int) error {
	t, err := table()
	if err == nil && f(t) != 0 {
		err = errors.New(what + " has failed")
	}
	return err
}

// begin initialises MPI.
func begin() error {
	return call("MPI_Init_thread for MPI_THREAD_SERIALIZED", func(t *C.mix_table) C.int { return C.mix_begin(t) })
}

// sum sums a value over all processes of MPI and returns how many they are. Collective.
func sum(value *uint64) (processes int, err error) {
	v, n := C.uint64_t(*value), C.int(0)
	err = call("MPI_Allreduce", func(t *C.mix_table) C.int { return C.mix_sum(t, &v, &n) })
	*value = uint64(v)
	return int(n), err
}

// end finalises MPI.
func end() error {
	return call("MPI_Finalize", func(t *C.mix_table) C.int { return C.mix_end(t) })
}
