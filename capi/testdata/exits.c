// A job that ends in the way that the first argument says. Rank 0 brings it about, the others do what the second one says.

#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEAVE = 200, NOTHING, HERE };

static volatile int never, here;
static gasnet_hsl_t lock = GASNET_HSL_INITIALIZER;

static void on_leave(gasnet_token_t t, int status) {
	(void)t;
	gasnet_exit(status);
}

static void on_signal(int sig) {
	(void)sig;
	gasnet_exit(6);
}

static void on_quit(int sig) {
	(void)sig;
	static const char text[] = "told of the end\n";
	ssize_t n = write(1, text, sizeof text - 1);
	gasnet_exit(n < 0);
}

static void *in_thread(void *arg) {
	(void)arg;
	gasnet_exit(8);
}

static void other(const char *what) {
	printf("rank %d was here", (int)gasnet_mynode()); // stdio keeps it
	OK(gasnet_AMRequestShort0(0, HERE));
	if (strcmp(what, "polls") == 0) {
		for (;;) {
			OK(gasnet_AMPoll());
		}
	}
	if (strcmp(what, "computes") == 0) {
		for (;;) {
			never++;
		}
	}
	if (strcmp(what, "waits") == 0) {
		GASNET_BLOCKUNTIL(never);
	}
	if (strcmp(what, "barrier") == 0) {
		BARRIER();
	}
	if (strcmp(what, "leaves") == 0) {
		gasnet_exit(0);
	}
	if (strcmp(what, "catches") == 0) {
		GASNET_BLOCKUNTIL(never);
	}
	if (strcmp(what, "is late") == 0) {
		usleep(300000);
		printf(" and went on");
		gasnet_exit(0);
	}
	exit(99);
}

static int first(const char *what) {
	printf("rank 0 was here");
	GASNET_BLOCKUNTIL(here == (int)gasnet_nodes() - 1);
	if (strcmp(what, "exit") == 0) {
		gasnet_exit(7);
	}
	if (strcmp(what, "zero") == 0) {
		gasnet_exit(0);
	}
	if (strcmp(what, "handler") == 0) {
		OK(gasnet_AMRequestShort1(0, LEAVE, 9));
		GASNET_BLOCKUNTIL(never);
	}
	if (strcmp(what, "handlers") == 0) {
		for (gasnet_node_t r = gasnet_nodes(); r-- > 0;) {
			OK(gasnet_AMRequestShort1(r, LEAVE, 0));
		}
		GASNET_BLOCKUNTIL(never);
	}
	if (strcmp(what, "thread") == 0) {
		pthread_t t;
		pthread_create(&t, NULL, in_thread, NULL);
		GASNET_BLOCKUNTIL(never);
	}
	if (strcmp(what, "lock") == 0) {
		gasnet_hsl_lock(&lock);
		gasnet_exit(10);
	}
	if (strcmp(what, "signal") == 0) { // it comes while the thread is in the library, and most likely asleep
		alarm(1);
		GASNET_BLOCKUNTIL(never);
	}
	if (strcmp(what, "busy") == 0) { // or, most likely, busy there
		ualarm(200000, 0);
		for (;;) {
			OK(gasnet_AMPoll());
			OK(gasnet_AMRequestShort1(0, NOTHING, 0));
		}
	}
	if (strcmp(what, "return") == 0) {
		return 11;
	}
	if (strcmp(what, "stdlib") == 0) {
		exit(12);
	}
	if (strcmp(what, "abort") == 0) {
		abort();
	}
	if (strcmp(what, "fault") == 0) {
		*(volatile int *)(uintptr_t)(16 + never) = 1;
	}
	if (strcmp(what, "kill") == 0) {
		kill(getpid(), SIGKILL);
	}
	if (strcmp(what, "quick") == 0) {
		_exit(13);
	}
	if (strcmp(what, "fork") == 0) {
		pid_t child = fork();
		if (child == 0) {
			gasnet_AMPoll();
			_exit(0);
		}
		int status;
		CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
		CHECK((child = fork()) >= 0);
		if (child == 0) {
			execlp("true", "true", (char *)NULL);
			_exit(1);
		}
		CHECK(waitpid(child, &status, 0) == child && status == 0 && system("true") == 0);
		CHECK((child = fork()) >= 0);
		if (child == 0) {
			exit(14); // ends the child, not the job
		}
		CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 14);
		gasnet_exit(0);
	}
	exit(98);
}

static void on_nothing(gasnet_token_t t, int none) {
	(void)t;
	(void)none;
}

static void on_here(gasnet_token_t t) {
	(void)t;
	here++;
}

int main(int argc, char **argv) {
	OK(gasnet_init(&argc, &argv));
	CHECK(argc == 3);
	if (strcmp(argv[1], "early") == 0 && gasnet_mynode() == 0) {
		gasnet_exit(15);
	}
	gasnet_handlerentry_t table[] = {{LEAVE, on_leave}, {NOTHING, on_nothing}, {HERE, on_here}};
	OK(gasnet_attach(table, 3, GASNET_PAGESIZE, 0));
	signal(SIGALRM, on_signal);
	if (strcmp(argv[2], "catches") == 0 && gasnet_mynode() != 0) {
		signal(SIGQUIT, on_quit);
	}
	if (gasnet_mynode() == 0) {
		return first(argv[1]);
	}
	other(argv[2]);
}
