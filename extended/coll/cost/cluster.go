package cost

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aqueduct-go/aqueduct/extended/coll"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// Cluster is a machine of hosts with several ranks each, of consecutive numbers: what goes between ranks of a host costs
// what Near says, what goes to another host what Far says. A rank has an interface of its own to each of the two, so
// the ranks of a host do not wait for each other; copies and combinations cost what Near says.
type Cluster struct {
	PerHost   int // ranks of a host, at least 1
	Near, Far LogGP
}

// Model returns the model of so many ranks, whose ranks are independent.
func (p Cluster) Model(ranks int) Model {
	return &cluster{p.PerHost, p.Near.Model(ranks), p.Far.Model(ranks)}
}

// Hosts implements Placed.
func (p Cluster) Hosts(ranks int) *coll.Hosts {
	return coll.NewHosts(ranks, func(rank int) int { return rank / p.PerHost })
}

// Placed is a Profile of a machine of which some ranks share a host.
type Placed interface {
	Profile
	// Hosts returns the hosts of so many ranks.
	Hosts(ranks int) *coll.Hosts
}

// hostsOf returns the hosts of so many ranks on a machine, nil if there are none.
func hostsOf(p Profile, ranks int) *coll.Hosts {
	if p, ok := p.(Placed); ok {
		return p.Hosts(ranks)
	}
	return nil
}

// cluster is a run of Cluster.
type cluster struct {
	perHost   int
	near, far Model
}

var _ Independent = (*cluster)(nil)

func (m *cluster) Independent() {}

// between returns the model of what goes between two ranks.
func (m *cluster) between(a, b int) Model {
	if a/m.perHost == b/m.perHost {
		return m.near
	}
	return m.far
}

func (m *cluster) Send(src, dst, bytes int, now vtime.Time) (free, arrival vtime.Time) {
	return m.between(src, dst).Send(src, dst, bytes, now)
}

func (m *cluster) Receive(dst, src, bytes int, since, arrival vtime.Time) vtime.Time {
	return m.between(src, dst).Receive(dst, src, bytes, since, arrival)
}

func (m *cluster) Copy(rank, bytes int, now vtime.Time) vtime.Time {
	return m.near.Copy(rank, bytes, now)
}

func (m *cluster) Combine(rank, bytes int, now vtime.Time) vtime.Time {
	return m.near.Combine(rank, bytes, now)
}

const clusterPrefix = "cluster:"

// String returns the cluster as ParseProfile reads it.
func (p Cluster) String() string {
	return clusterPrefix + strconv.Itoa(p.PerHost) + "/" + p.Near.String() + "/" + p.Far.String()
}

// parseCluster reads what follows clusterPrefix.
func parseCluster(text string) (Profile, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return nil, fmt.Errorf("cost: cluster %q; want %sRANKS/NEAR/FAR, ranks of a host and the models within a host and between hosts", text, clusterPrefix)
	}
	per, err := strconv.Atoi(parts[0])
	if err != nil || per < 1 {
		return nil, fmt.Errorf("cost: cluster %q: %q is no number of ranks of a host", text, parts[0])
	}
	p := Cluster{PerHost: per}
	for i, to := range []*LogGP{&p.Near, &p.Far} {
		if *to, err = parseLogGP(parts[1+i]); err != nil {
			return nil, err
		}
	}
	return p, nil
}
