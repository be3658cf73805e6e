package spawner_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/spawner"
)

// clearEnv takes every variable that Connect reads out of the environment.
func clearEnv(t *testing.T) {
	for _, name := range []string{
		spawner.EnvRank, spawner.EnvSize, spawner.EnvSocket, spawner.EnvSecret,
		"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "JSM_NAMESPACE_SIZE", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "FLUX_JOB_SIZE", "FLUX_TASK_RANK",
		"PALS_RANKID", "PMIX_RANK", "ALPS_APP_PE",
	} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
}

func TestNotLaunched(t *testing.T) {
	clearEnv(t)
	if _, err := spawner.Connect(); !errors.Is(err, spawner.ErrNotLaunched) {
		t.Errorf("Connect = %v, want ErrNotLaunched", err)
	}
	if spawner.Launched() {
		t.Error("Launched")
	}
	t.Setenv("SLURM_NTASKS", "4") // a batch script: no process of a step
	t.Setenv("SLURM_PROCID", "0")
	t.Setenv("FLUX_JOB_SIZE", "4") // likewise
	t.Setenv("PMI_SIZE", "1")
	t.Setenv("PALS_RANKID", "0") // perhaps the only one
	if _, err := spawner.Connect(); !errors.Is(err, spawner.ErrNotLaunched) {
		t.Errorf("Connect = %v, want ErrNotLaunched", err)
	}
}

func TestMalformedEnvironment(t *testing.T) {
	leakCheck(t)
	secret := strings.Repeat("ab", 32)
	good := map[string]string{
		spawner.EnvRank: "1", spawner.EnvSize: "2", spawner.EnvSocket: filepath.Join(t.TempDir(), "none"), spawner.EnvSecret: secret,
	}
	for _, c := range []struct{ name, value, says string }{
		{spawner.EnvRank, "", "AQUEDUCT_RANK not set"},
		{spawner.EnvRank, "2", `AQUEDUCT_RANK="2" is not a rank of a job of 2`},
		{spawner.EnvRank, "-1", "not a rank of a job of 2"},
		{spawner.EnvRank, "one", "not a rank of a job of 2"},
		{spawner.EnvSize, "", "AQUEDUCT_SIZE not set"},
		{spawner.EnvSize, "0", "not a number of ranks"},
		{spawner.EnvSize, "99999999999999999999", "not a number of ranks"},
		{spawner.EnvSocket, "", "AQUEDUCT_SOCKET not set"},
		{spawner.EnvSocket, strings.Repeat("long", 50), "cannot join its job"},
		{spawner.EnvSecret, "", "AQUEDUCT_SECRET not set"},
		{spawner.EnvSecret, "abc", "32 bytes in hexadecimal"},
		{spawner.EnvSecret, secret + "ab", "32 bytes in hexadecimal"},
		{"OTHER", "", "rank 1 cannot join its job"},
	} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			clearEnv(t)
			for name, v := range good {
				os.Setenv(name, v)
			}
			os.Setenv(c.name, c.value)
			_, err := spawner.Connect()
			if err == nil || errors.Is(err, spawner.ErrNotLaunched) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Connect = %v, want %q", err, c.says)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the error tells the secret: %v", err)
			}
			if _, left := os.LookupEnv(spawner.EnvSecret); left {
				t.Error("the secret is still in the environment")
			}
		})
	}
}

// Several processes that another launcher started must not become so many jobs of one.
func TestBatchEnvironment(t *testing.T) {
	for _, env := range []map[string]string{
		{"PMI_SIZE": "4"}, {"OMPI_COMM_WORLD_SIZE": "4"}, {"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "0"},
		{"MV2_COMM_WORLD_SIZE": "4"}, {"JSM_NAMESPACE_SIZE": "4"}, {"FLUX_JOB_SIZE": "4", "FLUX_TASK_RANK": "3"}, {"PALS_RANKID": "3"}, {"PMIX_RANK": "3"}, {"ALPS_APP_PE": "3"},
	} {
		clearEnv(t)
		for name, v := range env {
			os.Setenv(name, v)
		}
		_, err := spawner.Connect()
		if err == nil || errors.Is(err, spawner.ErrNotLaunched) || !strings.Contains(err.Error(), "aqrun -n 4") {
			t.Errorf("%v: Connect = %v", env, err)
		}
	}
}
