package shm

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeTree makes files, named by path, below a new directory.
func writeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestAvailableIn(t *testing.T) {
	const (
		meminfo = "MemTotal:       2000 kB\nMemFree:         100 kB\nMemAvailable:   1000 kB"
		v2Mount = "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"
		v1Mount = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
			"36 31 0:33 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct"
		all = 1000 << 10
	)
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  uint64
	}{
		{"no control groups", nil, all},
		{"v2, root group without files", map[string]string{
			"proc/self/cgroup":    "0::/",
			"proc/self/mountinfo": v2Mount,
		}, all},
		{"v2, own limit", map[string]string{
			"proc/self/cgroup":                      "0::/job/step",
			"proc/self/mountinfo":                   v2Mount,
			"sys/fs/cgroup/job/memory.max":          "max",
			"sys/fs/cgroup/job/memory.high":         "max",
			"sys/fs/cgroup/job/memory.current":      "90000",
			"sys/fs/cgroup/job/step/memory.max":     "100000",
			"sys/fs/cgroup/job/step/memory.current": "90000",
			"sys/fs/cgroup/job/step/memory.stat":    "anon 10000\ninactive_file 30000\nactive_file 50000",
		}, 40000},
		{"v2, the limit is further up", map[string]string{
			"proc/self/cgroup":                   "0::/a/b/c",
			"proc/self/mountinfo":                v2Mount,
			"sys/fs/cgroup/a/memory.max":         "70000",
			"sys/fs/cgroup/a/memory.current":     "50000",
			"sys/fs/cgroup/a/b/memory.max":       "max",
			"sys/fs/cgroup/a/b/memory.current":   "40000",
			"sys/fs/cgroup/a/b/c/memory.max":     "90000",
			"sys/fs/cgroup/a/b/c/memory.current": "30000",
		}, 20000},
		{"v2, throttled above memory.high", map[string]string{
			"proc/self/cgroup":               "0::/a",
			"proc/self/mountinfo":            v2Mount,
			"sys/fs/cgroup/a/memory.max":     "70000",
			"sys/fs/cgroup/a/memory.high":    "60000",
			"sys/fs/cgroup/a/memory.current": "50000",
		}, 10000},
		{"v2, over the limit", map[string]string{
			"proc/self/cgroup":               "0::/a",
			"proc/self/mountinfo":            v2Mount,
			"sys/fs/cgroup/a/memory.max":     "70000",
			"sys/fs/cgroup/a/memory.current": "80000",
		}, 0},
		{"v1", map[string]string{
			"proc/self/cgroup":                               "4:memory:/x/y\n3:cpu,cpuacct:/other\n0::/",
			"proc/self/mountinfo":                            v1Mount,
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712",
			"sys/fs/cgroup/memory/memory.usage_in_bytes":     "500000",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes":   "300000",
			"sys/fs/cgroup/memory/x/memory.usage_in_bytes":   "250000",
			"sys/fs/cgroup/memory/x/memory.stat":             "inactive_file 1\ntotal_inactive_file 20000",
			"sys/fs/cgroup/memory/x/y/memory.limit_in_bytes": "200000",
			"sys/fs/cgroup/memory/x/y/memory.usage_in_bytes": "100000",
		}, 70000},
		{"container: the mount shows our group only", map[string]string{
			"proc/self/cgroup":                 "0::/docker/abc/app",
			"proc/self/mountinfo":              "31 23 0:28 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw",
			"sys/fs/cgroup/memory.max":         "60000",
			"sys/fs/cgroup/memory.current":     "10000",
			"sys/fs/cgroup/app/memory.max":     "55000",
			"sys/fs/cgroup/app/memory.current": "10000",
		}, 45000},
		{"container: the path is outside of the mount", map[string]string{
			"proc/self/cgroup":                "0::/../elsewhere",
			"proc/self/mountinfo":             v2Mount,
			"sys/fs/cgroup/memory.max":        "60000",
			"sys/fs/cgroup/memory.current":    "10000",
			"sys/fs/elsewhere/memory.max":     "20000",
			"sys/fs/elsewhere/memory.current": "10000",
		}, 50000},
		{"container: a name that only begins alike", map[string]string{
			"proc/self/cgroup":             "0::/docker/abcdef",
			"proc/self/mountinfo":          "31 23 0:28 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw",
			"sys/fs/cgroup/memory.max":     "60000",
			"sys/fs/cgroup/memory.current": "10000",
		}, 50000},
		{"both versions mounted", map[string]string{
			"proc/self/cgroup":                             "4:memory:/x\n0::/u",
			"proc/self/mountinfo":                          v1Mount + "\n41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw",
			"sys/fs/cgroup/unified/u/cgroup.procs":         "1",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "300000",
			"sys/fs/cgroup/memory/x/memory.usage_in_bytes": "100000",
		}, 200000},
		{"malformed lines are ignored", map[string]string{
			"proc/self/cgroup":             "nonsense\n0::/",
			"proc/self/mountinfo":          "\n31 23\n - \nx - cgroup2\n" + v2Mount,
			"sys/fs/cgroup/memory.max":     "many",
			"sys/fs/cgroup/memory.current": "10000",
		}, all},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files := map[string]string{"proc/meminfo": meminfo}
			maps.Copy(files, tc.files)
			got, err := availableIn(writeTree(t, files))
			if err != nil || got != tc.want {
				t.Errorf("available: %d, %v; want %d", got, err, tc.want)
			}
		})
	}
}

func TestAvailableWithoutMeminfo(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"no file":   nil,
		"no field":  {"proc/meminfo": "MemTotal: 2000 kB"},
		"no number": {"proc/meminfo": "MemAvailable: lots kB"},
	} {
		if _, err := availableIn(writeTree(t, files)); err == nil || !strings.Contains(err.Error(), "MemAvailable") {
			t.Errorf("%s: error %v does not say what is missing", name, err)
		}
	}
}

func TestAvailableHere(t *testing.T) {
	total, ok := field("/proc/meminfo", "MemTotal:")
	if !ok {
		t.Skip("no /proc/meminfo here")
	}
	if n, err := Available(); err != nil || n == 0 || n > total<<10 {
		t.Errorf("available: %d of %d bytes, %v", n, total<<10, err)
	}
}
