package hosts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// show writes hosts as NAME:SLOTS/MAX@FROM, joined by blanks.
func show(hosts []Host) string {
	var all []string
	for _, h := range hosts {
		text := fmt.Sprintf("%s:%d", h.Name, h.Slots)
		if h.Max > 0 {
			text += fmt.Sprintf("/%d", h.Max)
		}
		all = append(all, text+"@"+h.From)
	}
	return strings.Join(all, " ")
}

// check compares hosts with what is wanted, or an error if that begins with "!".
func check(t *testing.T, input string, got []Host, err error, want string) {
	t.Helper()
	part, bad := strings.CutPrefix(want, "!")
	switch {
	case bad && (err == nil || !strings.Contains(err.Error(), part)):
		t.Errorf("%q: %s, %v; want an error with %q", input, show(got), err, part)
	case !bad && (err != nil || show(got) != want):
		t.Errorf("%q: %s, %v; want %s", input, show(got), err, want)
	}
}

func TestExpand(t *testing.T) {
	for text, want := range map[string]string{
		"a":                      "a",
		"node[01-03,7]":          "node01 node02 node03 node7",
		"node[8-11]":             "node8 node9 node10 node11",
		"node[08-11].example":    "node08.example node09.example node10.example node11.example",
		"node[1-2]-ib[0-1]":      "node1-ib0 node1-ib1 node2-ib0 node2-ib1",
		"[1-2]":                  "1 2",
		"node[000]":              "node000",
		"a[1,1]":                 "a1 a1",
		"node[3-1]":              "!backwards",
		"node[1-]":               "!no range",
		"node[]":                 "!no range",
		"node[1-2":               "!not closed",
		"node1-2]":               "!']'",
		"node[[1]]":              "!no range",
		"node[1-9999999999]":     "!at most 9 digits",
		"node[1-99999]":          "!too many numbers",
		"a[1-999]b[1-999]":       "!more than 65536",
		"a[1-65536]":             "a1 a2",
		"-oProxyCommand=x":       "!begins with",
		"a b":                    "!character",
		"a;b":                    "!character",
		"":                       "!missing",
		strings.Repeat("a", 254): "!more than 253",
	} {
		names, err := Expand(text)
		if text == "a[1-65536]" && len(names) == MaxRanks {
			names = names[:2]
		}
		part, bad := strings.CutPrefix(want, "!")
		if bad && (err == nil || !strings.Contains(err.Error(), part)) || !bad && (err != nil || strings.Join(names, " ") != want) {
			t.Errorf("%q: %.60q, %v; want %s", text, names, err, want)
		}
	}
}

func TestParseList(t *testing.T) {
	for text, want := range map[string]string{
		"a:2,b":                 "a:2@--host b:1@--host",
		"a,b,a":                 "a:2@--host b:1@--host",
		"a:2,A:3":               "a:5@--host",
		"n[1-2]:3,x":            "n1:3@--host n2:3@--host x:1@--host",
		"n[1,3]":                "n1:1@--host n3:1@--host",
		"10.0.0.7:2":            "10.0.0.7:2@--host",
		"[2001:db8::1]:2,a":     "2001:db8::1:2@--host a:1@--host",
		"[2001:DB8:0::1]":       "2001:db8::1:1@--host",
		"[fe80::1%eth0]":        "fe80::1%eth0:1@--host",
		"2001:db8::1":           "!in brackets",
		"[2001:db8::1":          "!in brackets",
		"[fe80::1%e,0]":         "!character",
		"[2001:db8::x]":         "!no IPv6 address",
		"[2001:db8::1]x":        "!want nothing or :SLOTS",
		"a:0":                   "!0 slots",
		"n[1-":                  "!--host: host n[1-: a bracket",
		"me@a":                  "!~/.ssh/config",
		"a:-1":                  "!no number of slots",
		"a:x":                   "!no number of slots",
		"a:":                    "!no number of slots",
		"a:65537":               "!no number of slots",
		"a:65536,a":             "!together",
		":2":                    "!missing",
		"":                      "!missing",
		"a,,b":                  "!missing",
		"a[1-40000],b[1-40000]": "!too many",
	} {
		got, err := ParseList(text)
		check(t, text, got, err, want)
	}
}

func TestParseFile(t *testing.T) {
	for text, want := range map[string]string{
		"a slots=2\n\n# none\nb # one\n": "a:2@f:1 b:1@f:4",
		"a:2\r\nb\r\n":                   "a:2@f:1 b:1@f:2",
		"a slots=2 max_slots=4":          "a:2/4@f:1",
		"a max-slots=4":                  "a:4/4@f:1",
		"n[01-02] slots=3":               "n01:3@f:1 n02:3@f:1",
		"[::1]:2\n":                      "::1:2@f:1",
		"a\na\nb\na":                     "a:3@f:1 b:1@f:3",
		"a slots=2\nb\na":                "!f:3: host a is named again, first at f:1",
		"a\nA slots=2":                   "!f:2: host A is named again",
		"a slots=2\na slots=2":           "!f:2: host a is named again",
		"a slots=0":                      "!f:1: host a: slots=0: 0 slots",
		"\na slots=4 max_slots=2":        "!f:2: host a has 4 slots but max_slots=2",
		"a:2 slots=2":                    "!given twice",
		"a slots=2 slots=2":              "!given twice",
		"a cores=2":                      `!f:1: host a: unknown key "cores=2"`,
		"a slots 2":                      `!slots: "" is no number of slots`,
		"a 2":                            `!unknown key "2"`,
		"a slots=":                       "!no number",
		"# nobody\n":                     "!f names no host",
		"":                               "!f names no host",
		"a\n-x\n":                        "!f:2: host -x",
	} {
		got, err := ParseFile("f", text)
		check(t, text, got, err, want)
	}
}

// environ is an environment of texts; a file is one whose name begins with a slash.
func environ(values map[string]string) *Environment {
	return &Environment{
		Getenv: func(name string) string { return values[name] },
		ReadFile: func(name string) ([]byte, error) {
			if text, ok := values[name]; ok {
				return []byte(text), nil
			}
			return nil, fmt.Errorf("open %s: no such file or directory", name)
		},
	}
}

func TestAllocation(t *testing.T) {
	for _, c := range []struct {
		system, want string
		values       map[string]string
	}{
		{"", "", nil},
		{"Slurm", "n1:4@SLURM_JOB_NODELIST n2:4@SLURM_JOB_NODELIST x:3@SLURM_JOB_NODELIST",
			map[string]string{"SLURM_JOB_NODELIST": "n[1-2],x", "SLURM_TASKS_PER_NODE": "4(x2),3", "SLURM_JOB_CPUS_PER_NODE": "9(x3)", "PBS_NODEFILE": "/no"}},
		{"Slurm", "a:8@SLURM_NODELIST", map[string]string{"SLURM_NODELIST": "a", "SLURM_JOB_CPUS_PER_NODE": "8"}},
		{"", "!(SLURM_JOB_NODELIST): neither SLURM_TASKS_PER_NODE nor SLURM_JOB_CPUS_PER_NODE says", map[string]string{"SLURM_JOB_NODELIST": "a"}},
		{"", "!for 1 of the 2 nodes", map[string]string{"SLURM_JOB_NODELIST": "a,b", "SLURM_TASKS_PER_NODE": "2"}},
		{"", "!more than the 2 nodes", map[string]string{"SLURM_JOB_NODELIST": "a,b", "SLURM_TASKS_PER_NODE": "2(x3)"}},
		{"", "!with repetitions", map[string]string{"SLURM_JOB_NODELIST": "a,b", "SLURM_TASKS_PER_NODE": "2(x2"}},
		{"", "!with repetitions", map[string]string{"SLURM_JOB_NODELIST": "a,b", "SLURM_TASKS_PER_NODE": "2(xx)"}},
		{"", "!0 slots", map[string]string{"SLURM_JOB_NODELIST": "a,b", "SLURM_TASKS_PER_NODE": "2,0"}},
		{"PBS", "a:2@/nodes:1 b:1@/nodes:3", map[string]string{"PBS_NODEFILE": "/nodes", "/nodes": "a\na\nb\n"}},
		{"", "!/nodes:2: host a: \"slots=2\" follows", map[string]string{"PBS_NODEFILE": "/nodes", "/nodes": "b\na slots=2\n"}},
		{"", "!(PBS_NODEFILE): open /nodes", map[string]string{"PBS_NODEFILE": "/nodes", "LSB_HOSTS": "a"}},
		{"", "!names no host", map[string]string{"PBS_NODEFILE": "/nodes", "/nodes": "\n"}},
		{"LSF", "a:1@/hosts:1 b:2@/hosts:2", map[string]string{"LSB_DJOB_HOSTFILE": "/hosts", "/hosts": "a\nb\nb", "LSB_MCPU_HOSTS": "c 1"}},
		{"LSF", "a:3@LSB_MCPU_HOSTS b:4@LSB_MCPU_HOSTS", map[string]string{"LSB_MCPU_HOSTS": "a 2 b 4 a 1 ", "LSB_HOSTS": "a b"}},
		{"", "!host b has no number", map[string]string{"LSB_MCPU_HOSTS": "a 2 b"}},
		{"", "!host 2: \"a\" is no number", map[string]string{"LSB_MCPU_HOSTS": "2 a"}},
		{"LSF", "a:2@LSB_HOSTS b:1@LSB_HOSTS", map[string]string{"LSB_HOSTS": "a b a"}},
		{"Grid Engine", "a:20@/pe:1 b:4@/pe:2", map[string]string{"PE_HOSTFILE": "/pe", "/pe": "a 16 all.q@a UNDEFINED\nb 4 all.q@b <NULL>\na 4 short.q@a UNDEFINED\n"}},
		{"", "!number of slots is missing", map[string]string{"PE_HOSTFILE": "/pe", "/pe": "a\n"}},
		{"", "!by Grid Engine (PE_HOSTFILE): /pe:1: host a: 0 slots", map[string]string{"PE_HOSTFILE": "/pe", "/pe": "a 0 q\n"}},
	} {
		a, err := environ(c.values).Allocation()
		if a == nil {
			a = new(Allocation)
		}
		check(t, fmt.Sprint(c.values), a.Hosts, err, c.want)
		if a.System != c.system {
			t.Errorf("%v: by %q, want %q", c.values, a.System, c.system)
		}
	}
}

func TestFind(t *testing.T) {
	e := environ(map[string]string{"/f": "b:2\n", "LSB_HOSTS": "c"})
	for _, c := range []struct{ list, file, who, want string }{
		{"a", "", "--host", "a:1@--host"},
		{"", "/f", "--hostfile /f", "b:2@/f:1"},
		{"", "", "LSF", "c:1@LSB_HOSTS"},
		{"a", "/f", "", "!give one of them"},
		{"", "/no", "", "!--hostfile: open /no"},
	} {
		hosts, who, err := e.Find(c.list, c.file)
		check(t, c.list+c.file, hosts, err, c.want)
		if who != c.who {
			t.Errorf("%q %q: by %q, want %q", c.list, c.file, who, c.who)
		}
	}
	if hosts, who, err := environ(nil).Find("", ""); hosts != nil || who != "" || err != nil {
		t.Errorf("of nobody: %v, %q, %v", hosts, who, err)
	}
	if _, _, err := environ(map[string]string{"LSB_HOSTS": "-c"}).Find("", ""); err == nil {
		t.Error("a wrong allocation counts as none")
	}
}

// checkHosts wants hosts that others can rely on.
func checkHosts(t *testing.T, hosts []Host) {
	t.Helper()
	seen := make(map[string]bool)
	for _, h := range hosts {
		key := strings.ToLower(h.Name)
		if h.Name == "" || h.Name[0] == '-' || strings.ContainsAny(h.Name, " \n[],") || h.Slots < 1 || h.Slots > MaxRanks ||
			h.Max != 0 && h.Max < h.Slots || h.From == "" || seen[key] {
			t.Errorf("%+v", h)
		}
		seen[key] = true
	}
	if len(hosts) > MaxRanks {
		t.Errorf("%d hosts", len(hosts))
	}
}

func FuzzParseList(f *testing.F) {
	f.Add("a:2,n[01-03]:4,[::1]:2")
	f.Fuzz(func(t *testing.T, text string) {
		hosts, err := ParseList(text)
		if err != nil {
			return
		}
		checkHosts(t, hosts)
		var again []string
		for _, h := range hosts {
			again = append(again, fmt.Sprintf("%s:%d", bracketed(h.Name), h.Slots))
		}
		if got, err := ParseList(strings.Join(again, ",")); err != nil || !slices.Equal(got, hosts) {
			t.Errorf("%q: %s, and again %s, %v", text, show(hosts), show(got), err)
		}
	})
}

func FuzzParseFile(f *testing.F) {
	f.Add("a slots=2 max_slots=4 # x\nn[1-3]:2\n\nb\nb\n")
	f.Fuzz(func(t *testing.T, text string) {
		if hosts, err := ParseFile("f", text); err == nil {
			checkHosts(t, hosts)
		}
	})
}

func FuzzAllocation(f *testing.F) {
	f.Add(byte(0), "n[1-2],x", "4(x2),3")
	f.Add(byte(1), "a\na\nb\n", "")
	f.Add(byte(2), "a 2 b 4", "")
	f.Add(byte(3), "a b a", "")
	f.Add(byte(4), "a 16 q UNDEFINED\n", "")
	f.Fuzz(func(t *testing.T, kind byte, text, counts string) {
		values := []map[string]string{
			{"SLURM_JOB_NODELIST": text, "SLURM_TASKS_PER_NODE": counts},
			{"PBS_NODEFILE": "/f", "/f": text},
			{"LSB_MCPU_HOSTS": text},
			{"LSB_HOSTS": text},
			{"PE_HOSTFILE": "/f", "/f": text},
		}
		if a, err := environ(values[int(kind)%len(values)]).Allocation(); err == nil && a != nil {
			checkHosts(t, a.Hosts)
		}
	})
}
