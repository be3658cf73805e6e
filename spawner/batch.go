package spawner

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// batchSizes are the variables by which other launchers say how many processes they have
// started; with also names one that must be set for the first to count. Where a launcher says only which of them a
// process is, all but the first know that there are several. What an allocation has is no such number: a batch script is one process,
// whatever SLURM_NTASKS says, which has SLURM_PROCID=0 besides (sbatch(1)). srun sets SLURM_STEP_NUM_TASKS.
var batchSizes = []struct {
	name, with string
	which      bool // it counts the processes before this one
}{
	{name: "PMI_SIZE"},             // MPICH's Hydra and its relatives, srun --mpi=pmi2, PALS with PMI
	{name: "OMPI_COMM_WORLD_SIZE"}, // Open MPI
	{name: "MV2_COMM_WORLD_SIZE"},  // MVAPICH2's mpirun_rsh
	{name: "JSM_NAMESPACE_SIZE"},   // IBM's jsrun
	{name: "SLURM_STEP_NUM_TASKS", with: "SLURM_PROCID"},
	{name: "FLUX_JOB_SIZE", with: "FLUX_TASK_RANK"},
	{name: "PMIX_RANK", which: true},   // launchers that speak PMIx, such as prun
	{name: "PALS_RANKID", which: true}, // HPE's PALS without PMI
	{name: "ALPS_APP_PE", which: true}, // Cray's aprun
}

// checkBatch returns an error if another launcher has started this process as one of
// several: they would run as so many jobs of one rank.
func checkBatch() error {
	for _, v := range batchSizes {
		value := os.Getenv(v.name)
		n, err := strconv.Atoi(value)
		if v.which {
			n++
		}
		if err != nil || n < 2 {
			continue
		}
		if _, ok := os.LookupEnv(v.with); v.with != "" && !ok {
			continue
		}
		orMore := ""
		if v.which {
			orMore = " or more"
		}
		prog, by := filepath.Base(os.Args[0]), ""
		if v.name == "SLURM_STEP_NUM_TASKS" {
			by = fmt.Sprintf("`srun --mpi=pmi2 -n %d %s`, or with ", n, prog)
		}
		return fmt.Errorf("spawner: %s=%s says that another launcher started this process as one of %d%s, but they cannot find each other and would run as so many jobs of one rank; start the job with %s`aqrun -n %d %s`, or a job of one with `aqrun -n 1 %s`",
			v.name, value, n, orMore, by, n, prog, prog)
	}
	return nil
}
