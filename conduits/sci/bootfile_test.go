package sci

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
	"github.com/aqueduct-go/aqueduct/core"
)

const someHosts = `# host  SCI node
alpha	4
beta	0x8	# a comment
gamma	12
delta	16
`

// filesOf writes the files and returns the settings that name them.
func filesOf(t *testing.T, hostFile, jobFile string) map[string]string {
	t.Helper()
	dir, s := t.TempDir(), map[string]string{}
	for key, text := range map[string]string{"hosts": hostFile, "job": jobFile} {
		if text == "" {
			continue
		}
		s[key] = filepath.Join(dir, key)
		if err := os.WriteFile(s[key], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestBootFiles(t *testing.T) {
	for _, tc := range []struct {
		name, hosts, job string
		n                int
		want             []sisci.NodeID
		places           []int
		err              string
	}{
		{"no files", "", "", 3, []sisci.NodeID{0, 1, 2}, []int{0, 1, 2}, ""},
		{"first two", someHosts, "", 2, []sisci.NodeID{4, 8}, []int{0, 1}, ""},
		{"all", someHosts, "", 4, []sisci.NodeID{4, 8, 12, 16}, []int{0, 1, 2, 3}, ""},
		{"chosen", someHosts, "delta\n\nalpha # first\n", 2, []sisci.NodeID{16, 4}, []int{3, 0}, ""},
		{"too few", someHosts, "", 5, nil, nil, "a job of 5 ranks, but"},
		{"too few chosen", someHosts, "alpha", 2, nil, nil, "lists 1 hosts"},
		{"stranger", someHosts, "omega", 1, nil, nil, "host omega is in no line"},
		{"chosen twice", someHosts, "alpha\nalpha", 2, nil, nil, "job:2: host alpha is listed twice"},
		{"two chosen on a line", someHosts, "alpha beta", 2, nil, nil, "job:1: a line has the name of one host"},
		{"job without hosts", "", "alpha", 1, nil, nil, "must say which SCI nodes"},
		{"host twice", "a 1\na 2", "", 1, nil, nil, "hosts:2: host a is listed twice"},
		{"node twice", "a 1\nb 1", "", 1, nil, nil, "hosts:2: host b: SCI node 1 is that of host a"},
		{"no node", "a", "", 1, nil, nil, "hosts:1: a line has a host and the number"},
		{"no number", "a b", "", 1, nil, nil, `SCI node "b" is not a number`},
		{"large number", "a 65536", "", 1, nil, nil, "from 0 to 65535"},
		{"endless line", strings.Repeat("a", 1<<17), "", 1, nil, nil, "token too long"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := parseParams("live", filesOf(t, tc.hosts, tc.job))
			if err != nil {
				t.Fatal(err)
			}
			h, err := p.hosts(tc.n)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("error %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var nodes []sisci.NodeID
			var places []int
			for r := range core.Rank(tc.n) {
				nodes = append(nodes, h.node(r))
				place, _ := h.place(r, tc.n)
				places = append(places, place)
			}
			if !slices.Equal(nodes, tc.want) || !slices.Equal(places, tc.places) {
				t.Errorf("nodes %v at %v, want %v at %v", nodes, places, tc.want, tc.places)
			}
		})
	}
	if _, err := (&params{hostFile: "/nonexistent/hosts"}).hosts(1); err == nil {
		t.Error("a file that does not exist is read")
	}
}

// Jobs run with node numbers that are not the ranks', live and modelled.
func TestNodeNumbers(t *testing.T) {
	body := func(j *core.Job) error {
		came := 0
		ep, err := j.Attach(core.AttachSpec{Segment: "64KB", Handlers: []core.HandlerEntry{
			{Index: 128, Func: func(*core.Token, []uint32, []byte) { came++ }},
		}})
		if err != nil {
			return err
		}
		for r := range core.Rank(j.Size()) {
			if err := ep.RequestLong(r, 128, make([]byte, 100), uint64(100*j.Rank())); err != nil {
				return err
			}
		}
		return ep.WaitUntil(func() bool { return came == j.Size() })
	}
	files := filesOf(t, someHosts, "gamma\nalpha\ndelta")
	for _, profile := range []string{"live", "paper"} {
		if err := core.RunGoroutines(3, core.Config{Conduit: "sci", Profile: profile, Settings: files}, body); err != nil {
			t.Errorf("profile %s: %v", profile, err)
		}
	}
	for _, machine := range []string{"d339", "scale"} {
		if err := core.RunModel(3, core.Config{Conduit: "sci", Profile: machine, Settings: files}, body); err != nil {
			t.Errorf("model %s: %v", machine, err)
		}
	}
}

func FuzzBootFiles(f *testing.F) {
	f.Add(someHosts, "alpha\ndelta")
	f.Add("a 1 2", "")
	f.Fuzz(func(t *testing.T, hostText, jobText string) {
		all, err := parseHosts("hosts", hostText)
		if err != nil {
			return
		}
		job, err := parseJob("job", jobText)
		if err != nil {
			return
		}
		picked, err := all.pick(job, len(job), "job")
		if err != nil {
			return
		}
		seen := map[sisci.NodeID]bool{}
		for r, name := range job {
			node := picked.node(core.Rank(r))
			if at, _ := picked.place(core.Rank(r), len(job)); seen[node] || all.names[at] != name || all.nodes[at] != node {
				t.Fatalf("rank %d on host %s has node %d", r, name, node)
			}
			seen[node] = true
		}
	})
}
