package sci

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/sci/sisci"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/core/settings"
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
		{"too few", someHosts, "", 5, nil, nil, `setting hosts="%hosts": it has 4 hosts, and the job has 5 ranks`},
		{"too few chosen", someHosts, "alpha", 2, nil, nil, `setting job="%job": it lists 1 hosts, and the job has 2 ranks`},
		{"stranger", someHosts, "omega", 1, nil, nil, `setting job="%job": host omega is in no line`},
		{"chosen twice", someHosts, "alpha\nalpha", 2, nil, nil, `setting job="%job": line 2: host alpha is listed twice`},
		{"two chosen on a line", someHosts, "alpha beta", 2, nil, nil, `setting job="%job": line 1: a line has the name of one host`},
		{"job without hosts", "", "alpha", 1, nil, nil, `setting job="%job": a job file names hosts`},
		{"host twice", "a 1\na 2", "", 1, nil, nil, `setting hosts="%hosts": line 2: host a is listed twice`},
		{"node twice", "a 1\nb 1", "", 1, nil, nil, "line 2: host b: SCI node 1 is that of host a"},
		{"no node", "a", "", 1, nil, nil, "line 1: a line has a host and the number"},
		{"no number", "a b", "", 1, nil, nil, `SCI node "b" is not a number`},
		{"large number", "a 65536", "", 1, nil, nil, "from 0 to 65535"},
		{"endless line", strings.Repeat("a", 1<<17), "", 1, nil, nil, "token too long"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := filesOf(t, tc.hosts, tc.job)
			p, err := parseParams("live", files)
			if err != nil {
				t.Fatal(err)
			}
			h, err := p.hosts(tc.n)
			if tc.err != "" {
				want := strings.NewReplacer("%hosts", files["hosts"], "%job", files["job"]).Replace(tc.err)
				if refused := new(settings.Error); !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want a refusal of a setting with %q", err, want)
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
	_, err := (&params{hostFile: "/nonexistent/hosts"}).hosts(1)
	if want := `sci: setting hosts="/nonexistent/hosts": `; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("of a file that does not exist: %v, want %s", err, want)
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
		all, err := parseHosts(hostText)
		if err != nil {
			return
		}
		job, err := parseJob(jobText)
		if err != nil {
			return
		}
		picked, err := all.pick(job, len(job))
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
