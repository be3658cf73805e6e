// Package coretest is the conformance suite of conduits: what a program written to the Core
// API may rely on, case by case, whatever carries its messages.
//
// A [Case] is data: a name, the rule it stands for, the job sizes it runs at, and the body
// that every rank executes. The same cases run in every kind of job that a conduit
// supports, each kind being a [Launcher]: [Goroutines] and [Model] are here, and jobs of
// real processes are launched by the conduit's tests, since this package knows no spawner.
// A conduit's conformance test is one call per configuration:
//
//	func TestConformance(t *testing.T) {
//		t.Run("many", func(t *testing.T) {
//			coretest.Run(t, coretest.Goroutines, core.Config{Conduit: "loopback"})
//		})
//	}
//
// A case that needs what the job does not offer (a rank to kill, virtual time) is skipped
// with the reason. What is offered but broken is a failure. A job that does not end is
// ended by a watchdog, which shows the stacks of all goroutines.
//
// # Jobs of processes
//
// The test binary executes itself once for every rank. Its TestMain begins with [RankMain],
// which runs the case and exits if the process is a rank:
//
//	func TestMain(m *testing.M) {
//		coretest.RankMain(spawner.Connect)
//		os.Exit(m.Run())
//	}
//
// The launcher starts the binary with the variables of [Launch.Env] added to the
// environment and an [Output] as standard output and error, and carries out the kills that
// the output receives.
//
// # Extent
//
// AQ_TEST_SCALE, a whole number, multiplies how often the cases repeat what they do; 1 is
// for every day.
package coretest
