package libmpi

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/conduits/mpi"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/settings"
)

func init() {
	register(Auto, "the MPI library of the launcher")
	for _, f := range families {
		register(f.name, f.title)
	}
}

func register(profile, summary string) {
	mpi.Register("mpi", mpi.Network{
		Name: profile, Summary: summary, Live: true, Reaches: true,
		Settings: func() settings.Table { return new(choices).table() },
		Check:    func(boot core.Bootstrap) error { return check(profile, boot) },
		Open:     func(s *mpi.Spec) (mpi.Transport, error) { return open(profile, s) },
	})
}

// check tells whether the profile can carry the job.
func check(profile string, boot core.Bootstrap) error {
	f, err := resolve(profile)
	if err != nil || boot == nil {
		return err
	}
	if _, shared := boot.(core.ProcessSharer); shared && boot.Size() > 1 {
		return fmt.Errorf("MPI needs a process per rank; here %d ranks share one", boot.Size())
	}
	if by, _ := launched(); by != nil && by != f {
		return fmt.Errorf("the ranks were started by the launcher of %s; use profile %s, or start the job by that of %s", by.title, by.name, f.title)
	}
	return nil
}
