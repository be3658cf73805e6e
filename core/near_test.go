package core

import (
	"io"
	"log/slog"
	"testing"
)

// sharing is a placed bootstrap whose ranks can pass descriptors.
type sharing struct{ placed }

func (s sharing) Local() (local []Rank) {
	for r, h := range s.hosts {
		if h == s.hosts[0] {
			local = append(local, Rank(r))
		}
	}
	return local
}

func (sharing) ShareFD(int) ([]int, error) { return nil, nil }

// apart is one whose ranks cannot.
type apart struct{ Bootstrap }

func TestNear(t *testing.T) {
	Register(Driver{Name: "wire", Network: true, New: func(string) Conduit { return nil }})
	Register(Driver{Name: "memory", New: func(string) Conduit { return nil }})
	Register(Driver{Name: "joiner", New: func(string) Conduit { return nil }, Join: func(far, profile string, settings map[string]string) (string, map[string]string) {
		return "memory+" + far + profile, map[string]string{"far.key": settings["key"]}
	}})
	for _, x := range []struct {
		near    Near
		conduit string
		hosts   []int
		apart   bool
		joined  bool
	}{
		{NearAuto, "wire", []int{0, 0, 1, 1}, false, true},
		{NearAuto, "wire", []int{0, 1, 2, 1}, false, true},
		{NearAuto, "wire", []int{0, 1, 2}, false, false},
		{NearAuto, "wire", []int{0, 0, 0}, false, false},
		{NearAuto, "wire", []int{0, 0, 1, 1}, true, false},
		{NearAuto, "memory", []int{0, 0, 1, 1}, false, false},
		{NearOn, "wire", []int{0, 0, 0}, false, true},
		{NearOff, "wire", []int{0, 0, 1, 1}, false, false},
	} {
		cfg := &Config{Conduit: x.conduit, Profile: "/fast", Settings: map[string]string{"key": "7"}, Near: x.near, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
		var boot Bootstrap = sharing{placed{Alone(), x.hosts}}
		if x.apart {
			boot = apart{boot}
		}
		got := cfg.joined(boot)
		if (got.Conduit == "joiner") != x.joined || !x.joined && got != cfg {
			t.Errorf("%v of %s on hosts %v: conduit %s, want it joined: %v", x.near, x.conduit, x.hosts, got.Conduit, x.joined)
		}
		if x.joined && (got.Profile != "memory+wire/fast" || got.Settings["far.key"] != "7") {
			t.Errorf("joined: profile %s, settings %v", got.Profile, got.Settings)
		}
	}
	for n := range Near(len(nearNames)) {
		if got, err := ParseNear(n.String()); err != nil || got != n {
			t.Errorf("%v is read as %v, %v", n, got, err)
		}
	}
	if _, err := ParseNear("maybe"); err == nil {
		t.Error("maybe is read")
	}
}
