// Package spawner starts the ranks of a job as processes, of this host or of several, brings
// them together and ends them together.
//
// The launcher side is Start, Job and Spec; aqrun is a command line in front of them. The
// rank side is Connect, which gives the core.Bootstrap (and core.DescriptorSharer) of a
// process that a launcher started.
//
// # How the ranks meet
//
// The launcher listens on a UNIX stream socket in a fresh directory of mode 0700, which it
// removes when the last rank has joined. Whoever connects must run under the launcher's
// user id (SO_PEERCRED) and prove, against a fresh nonce, that it knows the 32-byte secret
// of the job, which travels in the ranks' environment and never in an argument list; the
// launcher proves the same in turn. Strangers are refused, counted and reported; they hold
// one of a few slots for a few seconds at most and cannot harm the job.
//
// Exchange, Barrier and ShareFD then go through the launcher. They are for setting a job
// up, not for its inner loops.
//
// # Several hosts
//
// A Job judges; what touches a host is another part, which is told what to do and tells what happens (the interfaces host
// and hostEvents). If the ranks are on this host that part is in the same process (local). With Spec.Hosts there is an
// agent on each host, which has that part. An agent is this program again, and gets no further than this package's
// initialisation. Agents form a tree, whose root is the Job (branch): a stream of frames (trunk), which the Spec's Launch
// sets up, joins an agent to what has started it. At the upper end it is a host like any other (remote), to the Job as to
// an agent (children), which tells upwards what it hears from there and from its own host (tidings).
//
// An agent ends its ranks, and those below it theirs, when what has started it is gone, or is not heard for Launch.Silence. A
// host whose agent is gone or silent ends the job with status 137.
//
// # Static jobs
//
// The ranks of a static job (Static) have no launcher. Rank 0's process has the Job. Its one host is the hub: the
// ranks that have come to it, each by a trunk over TLS, which carries the frames that go over a UNIX socket otherwise. It
// can start and kill none of them: a rank ends by itself, when it is told or has not heard of rank 0 for 6 s.
//
// # How the job ends
//
//   - The first failure decides: a rank that exits with a status other than 0, dies by a
//     signal (status 128 + signal) or calls Abort. Non-zero beats zero: an Abort with a
//     status replaces an earlier end with status 0.
//   - The other ranks learn of it on Bootstrap.Done and have Spec.Grace to leave; ranks
//     that never joined get SIGTERM. What then still lives is killed, with its process
//     group. Exit statuses that arrive after the decision are consequences and do not count.
//   - A rank that exits with status 0 without Bootstrap.Close while peers still take part
//     ends the job as exit(0) does in a program of one process: with status 0, and a line
//     that names the rank.
//   - A rank that is gone (closed, or exited before it joined) while others wait in a
//     collective call fails the job with status 1, and so do ranks whose collective calls do
//     not match.
//   - After Spec.Timeout the launcher asks the ranks where they are, for a second at most, and
//     prints the answers. Then every rank gets SIGQUIT, upon which it prints its goroutines; the
//     status is 124.
//   - A Spec.Starter executes the launcher's program for each rank. That tells the launcher which
//     process the rank is, gets no further than this package's initialisation, and becomes the
//     rank's program. The starter kills all when the first rank fails. So ranks are judged in the
//     order in which they began to end, the others hear of a failure when the rank that failed is
//     gone, and ranks that print their goroutines exit when all have. A signal that kills the
//     starter ends the job with its status.
//   - Output that cannot be written fails the job, even one that has ended well.
//   - The ranks die with the launcher: the kernel kills them when the thread that started
//     them ends (PR_SET_PDEATHSIG), and Done reports the lost connection to those that a
//     wrapper shields from that. What ranks have started the guard kills: the process
//     groups of ranks, and the processes that still have the job's name in their environment.
//     The guard is a second process of the launcher's executable, which gets no further than
//     this package's initialisation.
//
// Statuses of the launcher's own: 125 it failed itself, or could not start an agent, 126 the program cannot be
// executed, 127 there is no such program.
package spawner
