package spawner

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// input returns what a rank gets as standard input: rank 0 the Spec's, the others nothing.
func (s *Spec) input(rank int) (*os.File, error) {
	if rank != 0 || s.Stdin == nil {
		return os.Open(os.DevNull)
	}
	if f, ok := s.Stdin.(*os.File); ok && !terminal(f) {
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return os.Open(os.DevNull) // the launcher was started without standard input
		}
		return os.NewFile(uintptr(fd), f.Name()), nil
	}
	// The ranks are in process groups of their own, to which a terminal would not speak.
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() {
		io.Copy(w, s.Stdin) // ends without complaint when the rank stops listening
		w.Close()
	}()
	return r, nil
}

// EndInput has this process read /dev/null, as all ranks but 0 do. Another launcher may have given it a
// standard input that never ends.
func EndInput() error {
	fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil || fd == 0 { // there was none
		return os.NewSyscallError("open "+os.DevNull, err)
	}
	defer unix.Close(fd)
	return os.NewSyscallError("dup3", unix.Dup3(fd, 0, 0))
}

// terminal reports whether f is a terminal.
func terminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
