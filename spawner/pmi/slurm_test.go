package pmi_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// slurmConf configures two hosts that are this one, with nothing that lasts.
const slurmConf = `ClusterName=aqueduct
SlurmctldHost=%[2]s(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=%[1]s/munge.sock
StateSaveLocation=%[1]s/state
SlurmdSpoolDir=%[1]s/spool-%%n
SlurmctldPidFile=%[1]s/slurmctld.pid
SlurmdPidFile=%[1]s/slurmd-%%n.pid
SlurmctldPort=%[3]d
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
SchedulerType=sched/builtin
KillWait=1
NodeName=n1 NodeHostname=%[2]s NodeAddr=127.0.0.1 Port=%[4]d CPUs=8
NodeName=n2 NodeHostname=%[2]s NodeAddr=127.0.0.1 Port=%[5]d CPUs=8
PartitionName=p Nodes=n1,n2 Default=YES
`

// slurm starts a Slurm of the test's own, and returns its launcher for jobs on so many of its two nodes.
func slurm(t *testing.T) func(nodes int) *launcher {
	for _, program := range []string{"munged", "slurmctld", "slurmd", "srun", "sinfo"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs Slurm: %v", err)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root, as Slurm's daemons do")
	}
	dir, err := os.MkdirTemp("/tmp", "aqueduct-slurm-") // munged wants a path that it trusts
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	ports := freePorts(t, 3)
	conf := filepath.Join(dir, "slurm.conf")
	text := fmt.Sprintf(slurmConf, dir, host, ports[0], ports[1], ports[2])
	for _, err := range []error{
		os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "state"), 0o700), os.WriteFile(conf, []byte(text), 0o644),
		os.WriteFile(filepath.Join(dir, "munge.key"), bytes.Repeat([]byte(dir), 32)[:512], 0o400),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	daemon(t, in("munged.out"), "munged", "--foreground", "--force", "--key-file="+in("munge.key"), "--socket="+in("munge.sock"),
		"--pid-file="+in("munged.pid"), "--log-file="+in("munged.log"), "--seed-file="+in("munge.seed"))
	daemon(t, in("slurmctld.out"), "slurmctld", "-D", "-f", conf)
	for _, node := range []string{"n1", "n2"} {
		daemon(t, in(node+".out"), "slurmd", "-D", "-f", conf, "-N", node)
	}
	env := []string{"SLURM_CONF=" + conf}
	return func(nodes int) *launcher {
		return &launcher{name: "slurm", env: env, command: func(n int) []string {
			// It waits for nodes that are not up yet.
			return []string{"srun", "--quiet", "--mpi=pmi2", "--nodes=" + strconv.Itoa(nodes), "--ntasks=" + strconv.Itoa(n)}
		}}
	}
}

// freePorts returns ports that nobody listens at.
func freePorts(t *testing.T, n int) (ports []int) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // at the end, so that all differ
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// daemon starts a program that ends with the test. What it says is shown if the test fails.
func daemon(t *testing.T, out string, argv ...string) {
	f, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		stuck := time.AfterFunc(10*time.Second, func() { cmd.Process.Kill() })
		cmd.Wait() // its status after a signal says nothing
		stuck.Stop()
		f.Close()
		if text, _ := os.ReadFile(out); t.Failed() {
			t.Logf("%s:\n%s", argv[0], text)
		}
	})
}

func TestSlurm(t *testing.T) {
	on := slurm(t)
	testEnds(t, on(1), 3)
	t.Run("nodes", func(t *testing.T) { // whose ranks have hosts of their own on the second: srun has a status of its own for ranks that it kills
		l := on(2)
		l.wrap = `if test $SLURM_NODEID = 1; then exec unshare --mount "$0"; else exec "$0"; fi`
		testHosts(t, l, 137)
	})
}
