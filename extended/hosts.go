package extended

import (
	"fmt"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended/coll"
)

// Which members of a team share a host, as the job has it (core.Job.Host).

// hostsOf returns the hosts of a team's members. Those of the world the ranks of a process share, since there may be
// thousands.
func hostsOf(job *core.Job, t *Team) *coll.Hosts {
	if len(job.Local()) == job.Size() {
		return nil
	}
	find := func() *coll.Hosts {
		return coll.NewHosts(t.Size(), func(i int) int { return job.Host(t.Jobrank(i)) })
	}
	if t.id != worldID {
		return find()
	}
	return core.Shared(job, fmt.Sprintf("extended: hosts of the group of rank %d", t.Jobrank(0)), find)
}

// Host returns the number of the host of team rank i, or -1 if there is no such member: members with the same number share
// a host. It is the number in the job (core.Job.Host), which does not depend on the team. A handler may call it.
func (t *Team) Host(i int) int { return t.ep.core.Job().Host(t.Jobrank(i)) }

// Local returns the team ranks on the caller's host, ascending, the caller's included. The first of them is the one to choose
// as the host's leader. A handler may call it.
func (t *Team) Local() (local []int) {
	mine := t.Host(t.self)
	for i := range t.Size() {
		if t.Host(i) == mine {
			local = append(local, i)
		}
	}
	return local
}

// SplitHosts divides the team by hosts: members on the same host make a new team, ranked by key and, of equal keys, by
// their rank here (MPI_Comm_split_type with MPI_COMM_TYPE_SHARED). Collective over the team; a barrier of each new team.
func (t *Team) SplitHosts(c *Context, key int) (*Team, error) {
	if err := t.use(c, "SplitHosts"); err != nil {
		return nil, err
	}
	return t.Split(c, t.Host(t.self), key)
}

// HostTeam makes the team of the ranks on the caller's host (gex_System_QueryHostInfo). Collective over the world.
func (ep *Endpoint) HostTeam(c *Context) (*Team, error) { return ep.world.SplitHosts(c, 0) }
