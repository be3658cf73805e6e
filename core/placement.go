package core

// placement says which host each rank is on, where the conduit's settings or its model say so, and not the bootstrap.
type placement struct {
	host  []int    // by rank
	local [][]Rank // by host
}

// findPlacement returns the job's placement, nil if hosts are the bootstrap's. Ranks of a process share one.
func (j *Job) findPlacement() *placement {
	drv, err := DriverByName(j.cfg.Conduit)
	if err != nil || drv.PerHost == nil {
		return nil
	}
	per := drv.PerHost(j.proc != nil, j.cfg.Settings)
	if per <= 0 {
		return nil
	}
	host := func(Rank) int { return 0 }
	if len(j.boot.Local()) < j.size {
		host = j.boot.Host
	}
	return Shared(j, "core placement", func() *placement { return newPlacement(j.size, per, host) })
}

// newPlacement makes hosts of so many consecutive ranks, of those that are on one host.
func newPlacement(ranks, per int, host func(Rank) int) *placement {
	p := &placement{host: make([]int, ranks)}
	type place struct{ host, block int }
	number := make(map[place]int)
	for r := range p.host {
		at := place{host(Rank(r)), r / per}
		h, known := number[at]
		if !known {
			h = len(p.local)
			number[at] = h
			p.local = append(p.local, nil)
		}
		p.host[r] = h
		p.local[h] = append(p.local[h], Rank(r))
	}
	return p
}

// RankPerNode is the PerHost of a Driver whose modelled ranks have a node each.
func RankPerNode(modelled bool, _ map[string]string) int {
	if modelled {
		return 1
	}
	return 0
}
