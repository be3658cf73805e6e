package myrinet

import (
	"fmt"
	"log/slog"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/grim"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// fits is core.Driver.Fits. It builds the network, and a NIC, as the job is going to, in virtual time that does not pass.
func fits(profile string, ranks int, values map[string]string) error {
	p, err := parseParams(profile, values)
	if err != nil {
		return err
	}
	machine := profile
	if profile == liveProfile {
		machine = machineLive
	}
	s := &site{params: p, size: ranks, kernel: vtime.New(1)}
	if err := s.build(machine, slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	if profile == liveProfile {
		s.profile = s.profile.Live()
	}
	if _, err := s.host(0); err != nil {
		return err
	}
	most, err := grim.MostPayload(s.image, s.profile)
	if err != nil {
		return err
	}
	return enough(min(most, int(s.profile.GRIM.Receive)-grim.HeaderSize) - mostHead)
}

// enough refuses queues that leave too few bytes to a Medium.
func enough(medium int) error {
	if medium < least {
		return fmt.Errorf("myrinet: a Medium would have up to %d B, and limits of %d B are the least: give settings queue and receive %d B", max(0, medium), least, least+mostHead+grim.HeaderSize)
	}
	return nil
}
