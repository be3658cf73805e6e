package bench

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/klauspost/cpuid/v2"
)

// Header states the conditions of a measurement. Conditions fills in the machine and the
// program; the benchmark adds the job.
type Header struct {
	Date     time.Time `json:"date"`
	CPU      string    `json:"cpu"`      // model
	Caches   string    `json:"caches"`   // sizes
	Cores    int       `json:"cores"`    // online
	Usable   int       `json:"usable"`   // of these, by affinity
	Governor string    `json:"governor"` // of frequency scaling; "unknown" on most virtual machines
	Kernel   string    `json:"kernel"`
	Go       string    `json:"go"`
	GOOS     string    `json:"goos"`
	GOARCH   string    `json:"goarch"`
	Commit   string    `json:"commit"` // of the program; "+" appended if its tree was modified

	Conduit  string `json:"conduit,omitempty"`
	Profile  string `json:"profile,omitempty"`
	Settings string `json:"settings,omitempty"` // of the conduit that are not the profile's, e.g. "security=none"
	Threads  string `json:"threads,omitempty"`  // "single" or "many"
	Mode     string `json:"mode,omitempty"`     // "live" or "modelled": never mixed unlabelled
	Pinning  string `json:"pinning,omitempty"`  // e.g. "0,1" or "none"
	Ranks    int    `json:"ranks,omitempty"`
	Method   string `json:"method,omitempty"` // e.g. "10 samples, interleaved"
	Peers    string `json:"peers,omitempty"`  // other implementations measured beside it, and which are missing
}

const unknown = "unknown"

// Conditions describes this machine and this program now.
func Conditions() Header {
	h := machine(os.DirFS("/"))
	h.CPU, h.Caches = cmp.Or(cpuid.CPU.BrandName, unknown), caches(&cpuid.CPU)
	h.Date = time.Now()
	h.Go, h.GOOS, h.GOARCH = runtime.Version(), runtime.GOOS, runtime.GOARCH
	h.Cores = runtime.NumCPU()
	if cpus, err := CPUs(); err == nil {
		h.Usable = len(cpus)
	}
	h.Commit = commit()
	return h
}

// machine reads what the kernel says below root.
func machine(root fs.FS) Header {
	return Header{
		Governor: firstLine(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
		Kernel:   firstLine(root, "proc/sys/kernel/osrelease"),
	}
}

// caches says how large the processor's caches are, and their lines, as far as it tells.
func caches(c *cpuid.CPUInfo) string {
	var sizes []string
	for _, x := range []struct {
		name  string
		bytes int
	}{{"L1d", c.Cache.L1D}, {"L2", c.Cache.L2}, {"L3", c.Cache.L3}} {
		if x.bytes > 0 {
			sizes = append(sizes, fmt.Sprintf("%s %d KiB", x.name, x.bytes>>10))
		}
	}
	if c.CacheLine > 0 {
		sizes = append(sizes, fmt.Sprintf("lines of %d bytes", c.CacheLine))
	}
	return cmp.Or(strings.Join(sizes, ", "), unknown)
}

func firstLine(root fs.FS, path string) string {
	text, _ := fs.ReadFile(root, path)
	line, _, _ := strings.Cut(string(text), "\n")
	if line == "" {
		return unknown
	}
	return line
}

// commit returns the revision the program was built from. The go command records it with
// go build but not with go run or go test; those run within the source tree, so ask git.
func commit() string {
	revision, modified := "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				modified = "+"
			}
		}
	}
	if revision == "" {
		return gitCommit(".")
	}
	return revision[:min(12, len(revision))] + modified
}

// gitCommit asks git for the revision of dir if that is within this module's tree.
func gitCommit(dir string) string {
	top, err := git(dir, "rev-parse", "--show-toplevel")
	if err != nil || !isModule(top) {
		return unknown
	}
	revision, err := git(dir, "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return unknown
	}
	if changes, err := git(dir, "status", "--porcelain"); err != nil || changes != "" {
		revision += "+"
	}
	return revision
}

func git(dir string, args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).Output()
	return strings.TrimSpace(string(out)), err
}

func isModule(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && strings.HasPrefix(string(text), "module github.com/aqueduct-go/aqueduct\n")
}

// lines returns the header as keys and values, the same keys in the same order for every
// header. A value is empty where it is not set; what a reader must be told is unknown says so.
// Keys start in lower case and hold no space, as those of benchfmt.
func (h *Header) lines() []Param {
	return []Param{
		{"date", h.Date.UTC().Format(time.RFC3339)},
		{"goos", h.GOOS},
		{"goarch", h.GOARCH},
		{"cpu", h.CPU},
		{"caches", h.Caches},
		{"cores", fmt.Sprintf("%d (%d usable)", h.Cores, h.Usable)},
		{"governor", h.Governor},
		{"kernel", h.Kernel},
		{"go", h.Go},
		{"commit", h.Commit},
		{"conduit", h.Conduit},
		{"profile", h.Profile},
		{"settings", h.Settings},
		{"threads", h.Threads},
		{"mode", h.Mode},
		{"ranks", nonZero(h.Ranks)},
		{"pinning", h.Pinning},
		{"oversubscribed", h.oversubscribed()},
		{"method", h.Method},
		{"peers", h.Peers},
	}
}

func nonZero(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// oversubscribed says whether live ranks outnumber the CPUs they may use.
func (h *Header) oversubscribed() string {
	switch {
	case h.Ranks == 0 || h.Usable == 0 || h.Mode == "modelled":
		return ""
	case h.Ranks > h.Usable:
		return "yes"
	}
	return "no"
}
