package spawner

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aqueduct-go/aqueduct/core"
)

// answer is what the agent of a host says to what it has been asked for.
type answer struct {
	Host     int
	Build    string         `json:",omitempty"` // of the agent's program
	Identity string         `json:",omitempty"` // shm.HostIdentity
	Programs map[int]string `json:",omitempty"` // which builds the programs of the host's ranks are, by number
	Status   int            `json:",omitempty"` // of its failure
	Error    string         `json:",omitempty"` // "": it has done it
}

// report is the answers of agents, one from each, unless one that has failed could not ask those below it.
type report []answer

// failureOf returns the report of a host's failure.
func failureOf(host int, err error) report {
	return report{{Host: host, Status: statusOfFailure(err), Error: strings.TrimPrefix(err.Error(), "spawner: ")}}
}

// failed reports whether there is a failure in it.
func (r report) failed() bool {
	return slices.ContainsFunc(r, func(a answer) bool { return a.Error != "" })
}

// failing returns the names of the hosts that have failed, or not answered.
func (r report) failing(names []string) (all []string) {
	for host, name := range names {
		if !slices.ContainsFunc(r, func(a answer) bool { return a.Host == host && a.Error == "" }) {
			all = append(all, name)
		}
	}
	return all
}

// failure returns an error that names the hosts that have failed; nil: none has. The report is sorted by host.
func (r report) failure(names []string) error {
	const most = 8
	status, failed := 0, 0
	var text strings.Builder
	for _, a := range r {
		if a.Error == "" {
			continue
		}
		if failed++; failed == 1 {
			status = a.Status
		}
		if failed <= most {
			fmt.Fprintf(&text, "; host %s: %s", names[a.Host], a.Error)
		}
	}
	if failed > most {
		fmt.Fprintf(&text, "; and %d hosts more", failed-most)
	}
	if failed == 0 {
		return nil
	}
	return failure(status, "%s", strings.TrimPrefix(text.String(), "; "))
}

// sorted sorts the report by host, and refuses one that is not of all hosts or has a failure in it.
func (r report) sorted(names []string) error {
	slices.SortStableFunc(r, func(a, b answer) int { return cmp.Compare(a.Host, b.Host) })
	if err := r.failure(names); err != nil {
		return err
	}
	for host := range names {
		if host >= len(r) || r[host].Host != host {
			return failure(statusSelf, "the agent of host %s has not answered", names[host])
		}
	}
	return nil
}

// compare refuses hosts of which something differs. That of a host may be "", which differs from nothing.
func (r report) compare(what string, names []string, of func(answer) string) error {
	var first *answer
	for i, a := range r {
		switch {
		case of(a) == "":
		case first == nil:
			first = &r[i]
		case of(a) != of(*first):
			return failure(statusSelf, "%s on hosts %s and %s (%s, %s); copy one to the other", what, names[first.Host], names[a.Host], of(*first), of(a))
		}
	}
	return nil
}

// statusOfFailure returns the status that an error has, or that of a launcher that has failed.
func statusOfFailure(err error) int {
	if x := (*core.ExitError)(nil); errors.As(err, &x) {
		return x.Status
	}
	return statusSelf
}

// asFailure returns the error as one with a status.
func asFailure(err error) error {
	if x := (*core.ExitError)(nil); errors.As(err, &x) {
		return err
	}
	return failure(statusSelf, "%v", err)
}
