#include <fcntl.h>

// fill opens /dev/null for reading in the place of every standard descriptor that is closed.
// open returns the lowest free number, so the descriptors are taken in order.
__attribute__((constructor)) static void fill(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", O_RDONLY) != fd)
			return; // the Go runtime says what is wrong
}
