package binding

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"
)

// tree returns a recorded folder /sys/devices/system. A file there has a line PATH:TEXT for each file, as
//
//	cd /sys/devices/system && grep -r . cpu/o??line cpu/cpu*/topology/{core_cpus_list,physical_package_id} node/node*/cpulist
//
// prints them.
func tree(t testing.TB, name string) fstest.MapFS {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	files := make(fstest.MapFS)
	for line := range strings.Lines(string(text)) {
		path, text, _ := strings.Cut(line, ":")
		files[path] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// read returns the machine of a recorded folder with the CPUs that may be used, all that are online if there is no
// list of them.
func read(t testing.TB, name, allowed string) Machine {
	t.Helper()
	files := tree(t, name)
	if allowed == "" {
		allowed = strings.TrimSpace(string(files["cpu/online"].Data))
	}
	cpus, err := ParseList(allowed)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Read(files, cpus)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestCPUs(t *testing.T) {
	for _, c := range []struct {
		tree, allowed string
		kind          Kind
		want          string // the lists of all ranks, joined by blanks
	}{
		{"one-socket-smt.txt", "", Core, "0,4 1,5 2,6 3,7"},
		{"one-socket-smt.txt", "", Core, "0,4 1,5 2,6 3,7 0,4 1,5"},
		{"one-socket-smt.txt", "", Socket, "0-7 0-7"},
		{"one-socket-smt.txt", "", NUMA, "0-7"},
		{"one-socket-smt.txt", "", None, "0-7 0-7"},
		{"one-socket-smt.txt", "2-3,6", Core, "2,6 3 2,6"},
		{"one-socket-smt.txt", "2-3,6", None, "2-3,6"},
		{"one-socket-smt.txt", "4-7", Core, "4 5 6 7 4"},
		{"two-sockets-four-nodes.txt", "", Core, "0,8 2,10 4,12 6,14 1,9 3,11 5,13 7,15 0,8"},
		{"two-sockets-four-nodes.txt", "", Socket, "0,2,4,6,8,10,12,14 1,3,5,7,9,11,13,15"},
		{"two-sockets-four-nodes.txt", "", Socket, "0,2,4,6,8,10,12,14 0,2,4,6,8,10,12,14 1,3,5,7,9,11,13,15"},
		{"two-sockets-four-nodes.txt", "", NUMA, "0,2,8,10 4,6,12,14 1,3,9,11 5,7,13,15"},
		{"two-sockets-four-nodes.txt", "", NUMA, "0,2,8,10 1,3,9,11"},
		{"two-sockets-four-nodes.txt", "0,2,4-6", Socket, "0,2,4,6 0,2,4,6 0,2,4,6 0,2,4,6 5"}, // one core of five
		{"offline.txt", "", Core, "0,4 1 3,7 6"},
	} {
		m := read(t, c.tree, c.allowed)
		want := strings.Fields(c.want)
		for i := range want {
			if got := FormatList(m.CPUs(c.kind, i, len(want))); got != want[i] {
				t.Errorf("%s, of %q, %s: rank %d of %d has %s, want %s", c.tree, c.allowed, c.kind, i, len(want), got, want[i])
			}
		}
	}
}

// Whatever the machine, each rank has CPUs, all of one place and none that may not be used; ranks share no core
// while there are enough; and with as many ranks as cores, sockets and nodes have ranks as they have cores.
func TestCPUsProperties(t *testing.T) {
	for _, name := range []string{"one-socket-smt.txt", "two-sockets-four-nodes.txt", "offline.txt"} {
		whole := read(t, name, "")
		for mask := 1; mask < 1<<min(len(whole), 10); mask += 7 {
			var m Machine
			for i, c := range whole {
				if mask>>min(i, 9)&1 != 0 {
					m = append(m, c)
				}
			}
			cores := len(m.cores())
			for k := 1; k <= 2*cores+1; k++ {
				used := make(map[int]int)
				ranks := make(map[int]int) // by socket
				for i := range k {
					for _, c := range m.CPUs(Core, i, k) {
						used[c]++
					}
					own := m.CPUs(Socket, i, k)
					socket := -1
					for _, c := range m {
						if slices.Contains(own, c.Number) != (c.Socket == socketOf(m, own[0])) {
							t.Fatalf("%s: rank %d of %d has CPUs %v", name, i, k, own)
						}
						if c.Number == own[0] {
							socket = c.Socket
						}
					}
					ranks[socket]++
				}
				for c, n := range used {
					if n > (k+cores-1)/cores {
						t.Fatalf("%s: %d of %d ranks are bound to CPU %d of %d cores", name, n, k, c, cores)
					}
				}
				if k != cores {
					continue
				}
				for _, c := range m.cores() {
					ranks[c.Socket]--
				}
				for socket, n := range ranks {
					if n != 0 {
						t.Fatalf("%s: of as many ranks as cores socket %d has %d too many", name, socket, n)
					}
				}
			}
		}
	}
}

// socketOf returns the socket of a CPU.
func socketOf(m Machine, number int) int {
	for _, c := range m {
		if c.Number == number {
			return c.Socket
		}
	}
	return -1
}

func TestDescribe(t *testing.T) {
	m := read(t, "two-sockets-four-nodes.txt", "")
	for list, want := range map[string]string{
		"0,8":                "CPUs 0,8: core 0, socket 0, NUMA node 0",
		"5":                  "CPU 5: core 5, socket 1, NUMA node 3",
		"1,3,5,7,9,11,13,15": "CPUs 1,3,5,7,9,11,13,15: cores 1,3,5,7, socket 1, NUMA nodes 2-3",
		"0-15":               "all CPUs 0-15: cores 0-7, sockets 0-1, NUMA nodes 0-3",
	} {
		cpus, err := ParseList(list)
		if got := m.Describe(cpus); err != nil || got != want {
			t.Errorf("%s: %q, want %q", list, got, want)
		}
	}
}

func TestRead(t *testing.T) {
	simple := Machine{{Number: 1, Core: 1}, {Number: 3, Core: 3}}
	if m, err := Read(fstest.MapFS{}, []int{1, 3}); err != nil || !slices.Equal(m, simple) {
		t.Errorf("of an empty folder: %v, %v", m, err)
	}
	unknown := fstest.MapFS{"cpu/cpu1/topology/physical_package_id": {Data: []byte("-1\n")}, "node/nodes/cpulist": {Data: []byte("x")}, "node/node1/cpulist": {}}
	if m, err := Read(unknown, []int{1, 3}); err != nil || !slices.Equal(m, simple) {
		t.Errorf("of a socket without a number, and a node without CPUs: %v, %v", m, err)
	}
	if _, err := Read(fstest.MapFS{}, nil); err == nil {
		t.Error("no CPU is accepted")
	}
	for name, text := range map[string]string{
		"cpu/cpu1/topology/core_cpus_list": "1-", "cpu/cpu1/topology/physical_package_id": "x", "node/node0/cpulist": "3,1",
	} {
		if _, err := Read(fstest.MapFS{name: {Data: []byte(text)}}, []int{1}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s with %q: %v", name, text, err)
		}
	}
}

// Of this host all CPUs are found that the process may use.
func TestReadHere(t *testing.T) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	var allowed []int
	for i := 0; len(allowed) < set.Count(); i++ {
		if set.IsSet(i) {
			allowed = append(allowed, i)
		}
	}
	m, err := Read(os.DirFS("/sys/devices/system"), allowed)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.CPUs(None, 0, 1); !slices.Equal(got, allowed) {
		t.Errorf("%v, want %v", got, allowed)
	}
	t.Log(m.Describe(allowed))
}

func TestParseKind(t *testing.T) {
	for _, k := range []Kind{None, Core, Socket, NUMA} {
		if got, err := ParseKind(string(k)); got != k || err != nil {
			t.Errorf("%q: %q, %v", k, got, err)
		}
	}
	if _, err := ParseKind("thread"); err == nil || err.Error() != `--bind-to "thread": want none, core, socket or numa` {
		t.Error(err)
	}
}

func FuzzParseList(f *testing.F) {
	f.Add("0-3,8")
	f.Fuzz(func(t *testing.T, text string) {
		numbers, err := ParseList(text)
		if err != nil {
			return
		}
		if again, err := ParseList(FormatList(numbers)); err != nil || !slices.Equal(again, numbers) || len(numbers) > mostCPUs {
			t.Errorf("%q: %v, and again %v, %v", text, numbers, again, err)
		}
	})
}
