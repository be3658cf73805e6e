package core

import "fmt"

// Near says whether ranks that share a host talk through memory in a job over a network's conduit (Driver.Network), which
// then is one part of a conduit that joins two (Driver.Join).
type Near uint8

const (
	NearAuto Near = iota // if the job has several hosts, and ranks that share one
	NearOn               // also in a job of one host
	NearOff              // never
)

var nearNames = [...]string{NearAuto: "auto", NearOn: "on", NearOff: "off"}

func (n Near) String() string { return nearNames[n] }

// ParseNear reads what Near.String writes.
func ParseNear(text string) (Near, error) {
	for n, name := range nearNames {
		if name == text {
			return Near(n), nil
		}
	}
	return 0, fmt.Errorf("want one of %v", nearNames)
}

// joined returns the configuration of a live job: cfg, or one whose conduit joins that of cfg with one through memory. All
// ranks come to the same.
func (cfg *Config) joined(boot Bootstrap) *Config {
	drv, err := DriverByName(cfg.Conduit)
	if err != nil || !drv.Network || !cfg.Near.wanted(boot) {
		return cfg
	}
	for _, d := range Drivers() {
		if d.Join != nil {
			c := *cfg
			c.Conduit = d.Name
			c.Profile, c.Settings = d.Join(cfg.Conduit, cfg.Profile, cfg.Settings)
			if boot.Rank() == 0 {
				cfg.Logger().Info("core: ranks that share a host talk through memory; AQUEDUCT_NEAR=off has them use the network too",
					"conduit", c.Conduit, "profile", c.Profile)
			}
			return &c
		}
	}
	return cfg
}

// wanted reports whether near ranks are to be joined in the job of boot, where they can.
func (n Near) wanted(boot Bootstrap) bool {
	_, process := boot.(ProcessSharer)
	_, descriptors := boot.(DescriptorSharer)
	if n == NearOff || !process && !descriptors {
		return false
	}
	if n == NearOn || len(boot.Local()) == boot.Size() {
		return n == NearOn
	}
	last := -1 // hosts are numbered as they come, so one that comes again has several ranks
	for r := range Rank(boot.Size()) {
		h := boot.Host(r)
		if h <= last {
			return true
		}
		last = h
	}
	return false
}
