package seal

import (
	"fmt"
	"os"

	"github.com/aqueduct-go/aqueduct/internal/secretfile"
)

// ReadKey returns the key in a file, which has its KeySize bytes and nothing else. It is an
// error if others than the file's owner may know the key; see secretfile.Read.
func ReadKey(path string) (k Key, err error) {
	b, err := secretfile.Read(path, KeySize)
	if err != nil {
		return k, fmt.Errorf("seal: key file: %w", err)
	}
	if len(b) != KeySize {
		return k, fmt.Errorf("seal: key file: %s: it has %d bytes; want %d random ones", path, len(b), KeySize)
	}
	return Key(b), nil
}

// WriteKey makes a file that has a new random key, and that only its owner may read. It is an
// error if something has that name already.
func WriteKey(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("seal: key file: %w", err)
	}
	k := NewKey()
	_, err = f.Write(k[:])
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err != nil {
		return fmt.Errorf("seal: key file %s: %w", path, err)
	}
	return nil
}
