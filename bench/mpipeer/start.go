package mpipeer

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/aqueduct-go/aqueduct/bench"
	"golang.org/x/sys/unix"
)

// Starts returns the libraries that are installed as references for the start of a job of n processes, not pinned: from
// the launch of mpirun until rank 0 has come through MPI_Init and a first MPI_Barrier, or the same of OpenSHMEM. They are on this host, or
// divided in order among hosts, which mpirun reaches by ssh; there OpenSHMEM is left out. What says what the references are.
func Starts(ctx context.Context, n int, hosts []string) (refs []bench.Reference, what []bench.Param, err error) {
	for _, p := range Found() {
		if p.Missing != "" || p.Library == "" || p.Multiple || p.Library == OpenSHMEM && len(hosts) > 0 {
			continue
		}
		exe, err := p.compile(ctx)
		if err != nil {
			return nil, nil, err
		}
		argv := slices.Concat(forget(), []string{p.run}, p.On(hosts, n).options(n > runtime.NumCPU()), []string{"-n", strconv.Itoa(n), exe, "start"})
		refs = append(refs, bench.Reference{Unit: p.Unit, Peer: true, Meter: func() (float64, error) {
			ns, err := start(ctx, argv)
			if err != nil {
				err = fmt.Errorf("%s: %w", p.Name, err)
			}
			return ns, err
		}})
		calls := "MPI_Init and MPI_Barrier"
		if p.Library == OpenSHMEM {
			calls = "shmem_init and shmem_barrier_all"
		}
		what = append(what, bench.Param{Key: p.Unit, Value: p.Name + ", its launcher, " + calls})
	}
	return refs, what, nil
}

// endTime is how long a job of a peer may take to end before it is ended.
const endTime = 5 * time.Second

// start runs env with these arguments to its end, and returns the nanoseconds until its first line, which is "ready".
func start(ctx context.Context, argv []string) (float64, error) {
	cmd := exec.CommandContext(ctx, "env", argv...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	in := bufio.NewReader(out)
	line, _ := in.ReadString('\n') // what is wrong is seen by the line and the status
	took := time.Since(begin)
	// MPI_Finalize of MPICH 4.0.2 over UCX may wait for ever where ranks are on several hosts. What was to be measured is over.
	stuck := time.AfterFunc(endTime, func() { cmd.Process.Signal(unix.SIGTERM) })
	io.Copy(io.Discard, in)
	err = cmd.Wait()
	if inTime := stuck.Stop(); line != "ready\n" || inTime && err != nil {
		return 0, fmt.Errorf("%q: said %q, %v: %s", argv, line, err, complaints.Bytes())
	}
	return float64(took.Nanoseconds()), nil
}
