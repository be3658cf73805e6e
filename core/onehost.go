package core

import (
	"errors"
	"fmt"
	"slices"
)

// OneHost returns the Check of a Driver whose ranks share memory, live: they are on one host, and can pass each other descriptors of memory unless they are in one
// process. The name is the conduit's.
func OneHost(name string) func(boot Bootstrap, group []Rank) error {
	return func(boot Bootstrap, group []Rank) error {
		if boot == nil {
			return nil
		}
		local, far := boot.Local(), 0
		if len(local) < boot.Size() { // else nobody is elsewhere: each of 65,536 ranks asks
			for _, r := range group {
				if _, near := slices.BinarySearch(local, r); !near {
					far++
				}
			}
		}
		if far > 0 {
			return fmt.Errorf("%s joins ranks of one host; %d of %d ranks are on another", name, far, len(group))
		}
		_, process := boot.(ProcessSharer)
		_, descriptors := boot.(DescriptorSharer)
		if !process && !descriptors {
			return errors.New("the ranks have no way to pass descriptors to each other; start them with aqrun")
		}
		return nil
	}
}
