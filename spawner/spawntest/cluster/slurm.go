package cluster

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// slurmConf configures a Slurm with nothing that lasts.
const slurmConf = `ClusterName=aqueduct
SlurmctldHost=FIRST
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=DIR/munge.sock
StateSaveLocation=DIR/state
SlurmdSpoolDir=DIR/spool-%n
SlurmctldPidFile=DIR/slurmctld.pid
SlurmdPidFile=DIR/slurmd-%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
SchedulerType=sched/builtin
KillWait=1
NodeName=NAMES CPUs=8
PartitionName=p Nodes=NAMES Default=YES
`

// ServeSlurm starts a Slurm whose nodes are the hosts, with 8 CPUs each, and returns the variable by which commands on Front
// find it. They wait for nodes that are not up yet. The first host is also the controller: on Front it would outlive a
// test that is killed.
func (c *Cluster) ServeSlurm(t testing.TB) (env string) {
	t.Helper()
	for _, program := range []string{"munged", "slurmctld", "slurmd", "srun", "salloc", "sbatch"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs Slurm: %v; on Debian: apt-get install munge slurm-client slurmctld slurmd", err)
		}
	}
	if err := os.Chmod(c.Dir, 0o755); err != nil { // or munged trusts no socket there
		t.Fatal(err)
	}
	if err := os.Mkdir(c.File("state"), 0o700); err != nil {
		t.Fatal(err)
	}
	first := c.Names[0]
	c.write(t, "slurm.conf", strings.NewReplacer("DIR", c.Dir, "FIRST", first, "NAMES", strings.Join(c.Names, ",")).Replace(slurmConf), 0o644)
	c.write(t, "munge.key", strings.Repeat(c.Dir, 64)[:1024], 0o400)
	c.Serve(t, first, "", "munged", "--foreground", "--force", "--key-file="+c.File("munge.key"), "--socket="+c.File("munge.sock"),
		"--pid-file="+c.File("munged.pid"), "--log-file="+c.File("munged.log"), "--seed-file="+c.File("munge.seed"))
	c.Serve(t, first, "Running as primary controller", "slurmctld", "-D", "-v", "-f", c.File("slurm.conf"))
	for _, name := range c.Names {
		c.Serve(t, name, "", "slurmd", "-D", "-f", c.File("slurm.conf"))
	}
	return "SLURM_CONF=" + c.File("slurm.conf")
}
