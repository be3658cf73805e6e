//go:build !cgo

package libpmix

import "errors"

var errWithout = errors.New("this program was built without cgo, which calling the PMIx library takes; build it with CGO_ENABLED=1 and a C compiler")

// Usable returns why the library cannot be called.
func Usable() error { return errWithout }

// Client is this process as a client of its launcher; here there is none.
type Client struct{ Rank, Size int }

// Open fails.
func Open() (*Client, error) { return nil, errWithout }

// Put fails, as all calls do.
func (*Client) Put(string, []byte) error { return errWithout }

// Fence fails.
func (*Client) Fence(bool) error { return errWithout }

// Get fails.
func (*Client) Get(int, string) ([]byte, error) { return nil, errWithout }

// Abort fails.
func (*Client) Abort(int, string) error { return errWithout }

// Wait fails.
func (*Client) Wait() error { return errWithout }

// Finalize fails.
func (*Client) Finalize() error { return errWithout }
