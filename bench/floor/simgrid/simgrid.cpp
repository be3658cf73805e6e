// simgrid KIND RANKS measures how fast SimGrid simulates messages between actors. It answers
// as the floors do: it says "ready", then answers each line "run N" with "ok MODEL=NS ...": for
// every network model the nanoseconds of CPU time per message, user and system, of about N messages. It ends
// at end of input.
//
// KIND is ring: in every round an actor sends to its right neighbour and takes a message; or
// alltoall: in round r it sends to the r-th actor behind it and takes one. It waits for its
// send after that. Sends that are detached would spare it the wait, but SimGrid 3.32 keeps all
// of them in one list, which it searches when one ends: with 16384 actors they take ten
// times as long. The engine exists once per process, so every measurement is a child's. What is timed is the run, without making platform and actors.

#include <simgrid/s4u.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <signal.h>
#include <vector>

namespace sg = simgrid::s4u;

namespace {

constexpr long MAXRUN = 1L << 30, MAXRANKS = 1 << 20;
constexpr uint64_t BYTES = 8;

struct Model {
	const char *name;
	const char *config;
	bool links;
};

// cm02 shares the bandwidth of links among the flows on them, one link per actor; constant
// has nothing but a delay, and is the cheapest there is.
const Model models[] = {{"cm02", "network/model:CM02", true}, {"constant", "network/model:Constant", false}};

[[noreturn]] void die(const char *what) {
	fprintf(stderr, "simgrid: %s\n", what);
	_exit(1);
}

// platform returns n hosts, each, if there are to be links, with one of its own to all others.
std::vector<sg::Host *> platform(int n, bool links) {
	auto *zone = links ? sg::create_star_zone("star") : sg::create_empty_zone("none");
	std::vector<sg::Host *> hosts;
	for (int i = 0; i < n; i++) {
		auto name = std::to_string(i);
		auto *host = zone->create_host("h" + name, 1e9);
		hosts.push_back(host);
		if (!links) continue;
		auto *link = zone->create_link("l" + name, 1e9)->set_latency(0.5e-6)->seal();
		zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, {sg::LinkInRoute(link)}, true);
	}
	zone->seal();
	return hosts;
}

// cpu_time returns the nanoseconds of CPU time that this process has taken.
double cpu_time() {
	timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

// measure returns the nanoseconds of CPU time per message of rounds of n actors.
double measure(const Model &model, bool ring, int n, long rounds) {
	int argc = 4;
	std::string config = std::string("--cfg=") + model.config;
	char *args[] = {(char *)"simgrid", (char *)config.c_str(), (char *)"--cfg=contexts/stack-size:64", (char *)"--log=root.thresh:error", nullptr};
	char **argv = args;
	sg::Engine engine(&argc, argv);
	auto hosts = platform(n, model.links);
	std::vector<sg::Mailbox *> boxes;
	for (int i = 0; i < n; i++) boxes.push_back(sg::Mailbox::by_name(std::to_string(i)));
	long got = 0;
	for (int i = 0; i < n; i++)
		sg::Actor::create("a", hosts[i], [&, i] {
			for (long r = 0; r < rounds; r++) {
				long distance = ring ? 1 : 1 + r % (n - 1);
				auto sending = boxes[(i + distance) % n]->put_async(&boxes, BYTES);
				boxes[i]->get<void>();
				sending->wait();
				got++;
			}
		});
	double start = cpu_time();
	engine.run();
	double took = cpu_time() - start;
	if (got != rounds * n) die("messages are missing");
	return took / got;
}

// child measures in a process of its own.
double child(const Model &model, bool ring, int n, long rounds) {
	fflush(stdout); // else the child has a copy of what is in it
	int fds[2];
	if (pipe(fds) != 0) die("pipe");
	pid_t self = getpid(), pid = fork();
	if (pid < 0) die("fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != self) _exit(1);
		double ns = measure(model, ring, n, rounds);
		if (write(fds[1], &ns, sizeof ns) != sizeof ns) _exit(1);
		_exit(0);
	}
	close(fds[1]);
	double ns;
	if (read(fds[0], &ns, sizeof ns) != sizeof ns) die("the measuring process died");
	close(fds[0]);
	waitpid(pid, nullptr, 0);
	return ns;
}

} // namespace

int main(int argc, char **argv) {
	bool ring = argc == 3 && strcmp(argv[1], "ring") == 0;
	if (argc != 3 || (!ring && strcmp(argv[1], "alltoall") != 0)) die("usage: simgrid ring|alltoall RANKS");
	long n = atol(argv[2]);
	if (n < 2 || n > MAXRANKS) die("wrong number of ranks");
	puts("ready");
	char text[64];
	while (fflush(stdout), fgets(text, sizeof text, stdin) != nullptr) {
		long count = 0;
		char rest;
		if (sscanf(text, "run %ld%c", &count, &rest) != 2 || rest != '\n' || count < 1 || count > MAXRUN) {
			printf("error want: run N, N from 1 to %ld\n", MAXRUN);
			continue;
		}
		printf("ok");
		for (auto &model : models) printf(" %s=%.4f", model.name, child(model, ring, n, std::max(1L, count / n)));
		printf("\n");
	}
}
