package seal

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// ReadKey returns the key in a file, which has its KeySize bytes and nothing else. It is an
// error if the file belongs to another user than this process's or root, or if its mode lets
// anybody but its owner read or write it: then others may know the key.
func ReadKey(path string) (k Key, err error) {
	// Opened before it is looked at, so that both is of one file, and without waiting for the
	// writer of a pipe.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return k, fmt.Errorf("seal: key file: %w", err)
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return k, fmt.Errorf("seal: key file %s: %w", path, err)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return k, fmt.Errorf("seal: key file %s: it is no ordinary file", path)
	case st.Mode&0o077 != 0:
		return k, fmt.Errorf("seal: key file %s: its mode is %#o, so others than its owner may know the key; make a new key, with mode 0600", path, st.Mode&0o777)
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return k, fmt.Errorf("seal: key file %s: it belongs to user %d, who may read it; this process is user %d's", path, st.Uid, os.Geteuid())
	case st.Size != KeySize:
		return k, fmt.Errorf("seal: key file %s: it has %d bytes; want %d random ones", path, st.Size, KeySize)
	}
	if _, err := io.ReadFull(f, k[:]); err != nil {
		return k, fmt.Errorf("seal: key file %s: %w", path, err)
	}
	return k, nil
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
