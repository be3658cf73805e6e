package sci

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/settings"
)

// A job is started as published ("Bootstrapping"). A configuration file says which SCI node
// each host is. A job file has the names of the hosts that take part; without one the job takes
// as many of the first hosts as it has ranks. The three numbers of a rank follow: its host, its
// rank, its SCI node.

// hosts maps ranks to hosts and SCI nodes; nil is a job without files, where a rank is its own
// SCI node.
type hosts struct {
	names  []string       // by rank
	nodes  []sisci.NodeID // by rank
	places []int          // by rank: the host's place in the file of all hosts
	all    int            // hosts in that file
}

// place returns where the host of a rank stands in the installation, and how many hosts that
// has, for a job of n ranks.
func (h *hosts) place(r core.Rank, n int) (place, all int) {
	if h == nil {
		return int(r), n
	}
	return h.places[r], h.all
}

// node returns the SCI node of a rank.
func (h *hosts) node(r core.Rank) sisci.NodeID {
	if h == nil {
		return sisci.NodeID(r)
	}
	return h.nodes[r]
}

// hosts reads the files for a job of n ranks.
func (p *params) hosts(n int) (*hosts, error) {
	refused := func(key, value string, err error) (*hosts, error) {
		return nil, &settings.Error{Conduit: "sci", Key: key, Value: value, Why: err.Error()}
	}
	if p.hostFile == "" {
		if p.jobFile != "" {
			return refused("job", p.jobFile, errors.New("a job file names hosts; setting hosts must say which SCI nodes they are"))
		}
		return nil, nil
	}
	all, err := readFile(p.hostFile, parseHosts)
	if err != nil {
		return refused("hosts", p.hostFile, err)
	}
	if p.jobFile == "" {
		if all, err = all.first(n); err != nil {
			return refused("hosts", p.hostFile, err)
		}
		return all, nil
	}
	job, err := readFile(p.jobFile, parseJob)
	if err == nil {
		all, err = all.pick(job, n)
	}
	if err != nil {
		return refused("job", p.jobFile, err)
	}
	return all, nil
}

func readFile[T any](name string, parse func(text string) (T, error)) (v T, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return v, err
	}
	return parse(string(text))
}

// parseHosts reads lines of a host and its SCI node; # begins a comment.
func parseHosts(text string) (*hosts, error) {
	h := &hosts{}
	names, nodes := map[string]bool{}, map[sisci.NodeID]string{}
	err := eachLine(text, func(words []string) error {
		if len(words) != 2 {
			return errors.New("a line has a host and the number of its SCI node")
		}
		n, err := strconv.ParseUint(words[1], 0, 16)
		if err != nil {
			return fmt.Errorf("host %s: SCI node %q is not a number from 0 to 65535", words[0], words[1])
		}
		node := sisci.NodeID(n)
		if names[words[0]] {
			return fmt.Errorf("host %s is listed twice", words[0])
		}
		if other, used := nodes[node]; used {
			return fmt.Errorf("host %s: SCI node %d is that of host %s", words[0], node, other)
		}
		names[words[0]], nodes[node] = true, words[0]
		h.names, h.nodes, h.places = append(h.names, words[0]), append(h.nodes, node), append(h.places, h.all)
		h.all++
		return nil
	})
	return h, err
}

// parseJob reads the hosts of a job in order of rank, one on each line; # begins a comment.
func parseJob(text string) (job []string, err error) {
	seen := map[string]bool{}
	err = eachLine(text, func(words []string) error {
		switch {
		case len(words) != 1:
			return errors.New("a line has the name of one host")
		case seen[words[0]]:
			return fmt.Errorf("host %s is listed twice; a host has one rank", words[0])
		}
		seen[words[0]] = true
		job = append(job, words[0])
		return nil
	})
	return job, err
}

// eachLine calls line with the words of every line that has any, and says where it fails.
func eachLine(text string, line func(words []string) error) error {
	lines := bufio.NewScanner(strings.NewReader(text))
	for at := 1; lines.Scan(); at++ {
		content, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(content)
		if len(words) == 0 {
			continue
		}
		if err := line(words); err != nil {
			return fmt.Errorf("line %d: %w", at, err)
		}
	}
	return lines.Err()
}

// first returns the first n hosts.
func (h *hosts) first(n int) (*hosts, error) {
	if n > len(h.names) {
		return nil, fmt.Errorf("it has %d hosts, and the job has %d ranks; start fewer ranks or list more hosts", len(h.names), n)
	}
	return &hosts{h.names[:n], h.nodes[:n], h.places[:n], h.all}, nil
}

// pick returns the hosts of a job, which must have n.
func (h *hosts) pick(job []string, n int) (*hosts, error) {
	if len(job) != n {
		return nil, fmt.Errorf("it lists %d hosts, and the job has %d ranks; they must be as many", len(job), n)
	}
	at := map[string]int{}
	for i, name := range h.names {
		at[name] = i
	}
	picked := &hosts{all: h.all}
	for _, name := range job {
		i, ok := at[name]
		if !ok {
			return nil, fmt.Errorf("host %s is in no line of the file of hosts", name)
		}
		picked.names, picked.nodes, picked.places = append(picked.names, name), append(picked.nodes, h.nodes[i]), append(picked.places, i)
	}
	return picked, nil
}
