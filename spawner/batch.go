package spawner

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// batchSizes are the variables by which other launchers say how many processes they have
// started; with also names one that must be set for the first to count.
var batchSizes = []struct{ name, with string }{
	{"PMI_SIZE", ""},
	{"OMPI_COMM_WORLD_SIZE", ""},
	{"SLURM_NTASKS", "SLURM_PROCID"},
}

// checkBatch returns an error if another launcher has started this process as one of
// several: they would run as so many jobs of one rank.
func checkBatch() error {
	for _, v := range batchSizes {
		n, err := strconv.Atoi(os.Getenv(v.name))
		if err != nil || n < 2 {
			continue
		}
		if _, ok := os.LookupEnv(v.with); v.with != "" && !ok {
			continue
		}
		prog := filepath.Base(os.Args[0])
		return fmt.Errorf("spawner: %s=%d says that another launcher started this process as one of %d, but they cannot find each other and would run as %d jobs of one rank; start the job with `aqrun -n %d %s`, or a job of one with `aqrun -n 1 %s`",
			v.name, n, n, n, n, prog, prog)
	}
	return nil
}
