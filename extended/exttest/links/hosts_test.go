package links_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/conduits/udp/impair"
	"github.com/aqueduct-go/aqueduct/conduits/udp/impair/tunnel"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/coretest"
	"github.com/aqueduct-go/aqueduct/spawner"
)

// envHosts is a variable with a number of hosts, over which ranks are told that they are spread in turn, as they are over
// namespaces.
const envHosts = "AQ_TEST_HOSTS"

// connect is spawner.Connect for ranks of several hosts.
func connect() (core.Bootstrap, error) {
	boot, err := spawner.Connect()
	text := os.Getenv(envHosts)
	if err != nil || text == "" {
		return boot, err
	}
	n, err := strconv.Atoi(text)
	return &spread{boot, n}, err
}

// spread is a bootstrap that has its ranks on several hosts.
type spread struct {
	core.Bootstrap
	hosts int
}

// Host implements core.Bootstrap.
func (s *spread) Host(r core.Rank) int { return int(r) % s.hosts }

// Local implements core.Bootstrap.
func (s *spread) Local() (all []core.Rank) {
	for r := s.Host(s.Rank()); r < s.Size(); r += s.hosts {
		all = append(all, core.Rank(r))
	}
	return all
}

// hostsCase has all ranks send a message to all.
var hostsCase = coretest.Case{
	Name:  "links/hosts",
	Rule:  "ranks of several hosts find addresses by which they reach each other",
	Ranks: []int{4},
	Body: func(t *coretest.T) error {
		got := 0
		ep, err := t.Attach(core.AttachSpec{Handlers: []core.HandlerEntry{
			{Index: onPing, Func: func(*core.Token, []uint32, []byte) { got++ }},
		}})
		if err != nil {
			return err
		}
		if err := t.Others(func(r core.Rank) error { return ep.RequestShort(r, onPing) }); err != nil {
			return err
		}
		return t.Wait(&ep.Context, func() bool { return got == t.Size()-1 })
	},
}

// twoHosts makes two namespaces, each with devices that commands of ip(8) make; {0} and {1} stand for the namespaces'
// paths.
func twoHosts(t *testing.T, commands [2][]string) *tunnel.Tunnel {
	t.Helper()
	ip, err := exec.LookPath("ip")
	if err != nil {
		t.Skip("needs root, and ip(8) of iproute2")
	}
	tun, _ := networkOf(t, 2, "")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	replace := strings.NewReplacer("{0}", tun.Namespace(0), "{1}", tun.Namespace(1))
	for i, list := range commands {
		for _, text := range list {
			args := append([]string{enterWord, "0", tun.Namespace(i), ip}, strings.Fields(replace.Replace(text))...)
			if out, err := exec.Command(self, args...).CombinedOutput(); err != nil {
				t.Fatalf("host %d: ip %s: %v\n%s", i, text, err, out)
			}
		}
	}
	return tun
}

// runHosts runs hostsCase on the hosts, and returns how it ended.
func runHosts(t *testing.T, tun *tunnel.Tunnel, settings map[string]string) (status int, output string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg := core.Config{Conduit: "udp", Threads: core.Single, Settings: settings, Verbose: true}
	launch := coretest.Launch{Case: &hostsCase, Ranks: hostsCase.Ranks[0], Config: cfg, Dir: t.TempDir()}
	var out bytes.Buffer
	job, err := spawner.Start(context.Background(), spawner.Spec{
		N: launch.Ranks, Prog: self, Prefix: prefix(t, tun, 2), Env: append(launch.Env(), envHosts+"=2"), Timeout: time.Minute, Stdout: &out, Stderr: &out,
	})
	if err != nil {
		t.Fatal(err)
	}
	status, _ = job.Wait()
	return status, out.String()
}

// Of the addresses of two hosts the one is found by which they reach each other, whatever else they have.
func TestHosts(t *testing.T) {
	// device returns commands that make a device which is up and leads nowhere.
	device := func(name, prefix string) []string {
		return []string{
			"link add " + name + " type veth peer name x" + name, "addr add " + prefix + " dev " + name,
			"link set " + name + " up", "link set x" + name + " up",
		}
	}
	// joined returns commands that leave a cable alone between the hosts.
	joined := func(host int, addr string) []string {
		commands := []string{"addr flush dev " + tunnel.Device, "link set eth8 up", fmt.Sprintf("addr add %s dev eth8 nodad", addr)}
		if host == 0 {
			return append([]string{"link add eth8 type veth peer name eth8 netns {1}"}, commands...)
		}
		return commands
	}
	for _, c := range []struct {
		name     string
		commands [2][]string
		settings map[string]string
		want     string // an address of rank 0, and its interface
	}{
		{"bridges of containers", [2][]string{
			append(device("docker0", "172.17.0.1/16"), joined(0, "10.78.0.1/24")...),
			append(device("docker0", "172.17.0.2/16"), joined(1, "10.78.0.2/24")...),
		}, nil, "10.78.0.1 (eth8)"},
		{"a network behind each host", [2][]string{
			append(device("eth7", "10.0.2.15/24"), joined(0, "10.78.0.1/24")...),
			append(device("eth7", "10.0.2.15/24"), joined(1, "10.78.0.2/24")...),
		}, map[string]string{"security": "encrypt"}, "10.78.0.1 (eth8)"},
		{"routes", [2][]string{
			append(append(device("eth7", "192.168.1.1/24"), joined(0, "10.78.0.1/32")...), "route add 10.79.0.1 dev eth8 src 10.78.0.1"),
			append(append(device("eth7", "192.168.2.1/24"), joined(1, "10.79.0.1/32")...), "route add 10.78.0.1 dev eth8 src 10.79.0.1"),
		}, map[string]string{"security": "none", "insecure": "yes"}, "10.78.0.1 (eth8)"},
		{"IPv6", [2][]string{joined(0, "fd00:77::1/64"), joined(1, "fd00:77::2/64")}, nil, "fd00:77::1 (eth8)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, out := runHosts(t, twoHosts(t, c.commands), c.settings)
			if want := "\n  rank 0: " + c.want + "\n"; status != 0 || !strings.Contains(out, want) {
				t.Errorf("status %d, want 0 and %q\n%s", status, want, out)
			}
		})
	}
}

// What keeps two hosts apart is said before Attach returns, with the addresses of both.
func TestHostsApart(t *testing.T) {
	const lost = "nothing arrives of what rank %d at %v:"
	cut := func(t *testing.T, tun *tunnel.Tunnel, from, to int) {
		if err := tun.Impair(from, to, impair.Settings{Loss: 1}); err != nil {
			t.Error(err)
		}
	}
	for _, c := range []struct {
		name     string
		commands [2][]string
		cut      [][2]int // ways on which everything is lost
		settings map[string]string
		want     []string
	}{
		{name: "one way", cut: [][2]int{{1, 0}}, want: []string{fmt.Sprintf(lost, 1, tunnel.Address(1)), fmt.Sprintf("sends to rank 0 at %v:", tunnel.Address(0)), "the other way round it does"}},
		{name: "both ways", cut: [][2]int{{1, 0}, {0, 1}}, want: []string{fmt.Sprintf(lost, 1, tunnel.Address(1)), "nor the other way round"}},
		{name: "no network", commands: [2][]string{{"addr flush dev " + tunnel.Device}},
			want: []string{"ranks 0 and 1 fit", "rank 0 has none;", fmt.Sprintf("rank 1 has %v/16 (%s), fe80", tunnel.Address(1), tunnel.Device)}},
		{name: "loopbacks", settings: map[string]string{"address": "127.0.0.1"}, want: []string{"in another network namespace, where loopbacks do not meet"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tun := twoHosts(t, c.commands)
			for _, way := range c.cut {
				cut(t, tun, way[0], way[1])
			}
			began := time.Now()
			status, out := runHosts(t, tun, c.settings)
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("the job ended after %v", took)
			}
			for _, part := range c.want {
				if status != 1 || !strings.Contains(out, part) {
					t.Errorf("status %d, want 1 and %q\n%s", status, part, out)
				}
			}
		})
	}
}
