package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/cli/known"
)

// TestSettingsOfConduits wants every conduit to refuse, before a job starts and in the same words, what is
// none of its settings, no value of one, and out of range.
func TestSettingsOfConduits(t *testing.T) {
	refused := 0
	for _, d := range core.Drivers() {
		for _, variant := range known.Variants(&d) {
			table := d.Table(variant)
			check := func(key, value, why string) {
				t.Helper()
				want := fmt.Sprintf("%s: setting %s=%q: %s", d.Name, key, value, why)
				if err := d.Table(variant).Read(d.Name, map[string]string{key: value}); err == nil || !strings.HasPrefix(err.Error(), want) {
					t.Errorf("%s/%s: %v, want %s", d.Name, variant, err, want)
				}
				refused++
			}
			check("no-such-setting", "1", "unknown; there are ")
			for _, s := range table {
				if s.Refused() != "" {
					check(s.Key, s.Default, s.Refused())
					continue
				}
				check(s.Key, "", "want "+s.Want())
				if s.Kind != "text" && s.Kind != "file" {
					check(s.Key, "?", "want "+s.Want())
				}
				if least, most, ok := strings.Cut(s.Range, " to "); ok && s.Kind == "number" {
					if n, err := strconv.Atoi(least); err == nil {
						check(s.Key, strconv.Itoa(n-1), "want "+s.Want())
					}
					if n, err := strconv.Atoi(most); err == nil {
						check(s.Key, strconv.Itoa(n+1), "want "+s.Want())
					}
				}
			}
		}
	}
	if refused < 200 {
		t.Errorf("only %d refusals were looked at", refused)
	}
}

// TestUnknownSettingInAJob wants a rank that no launcher checked to refuse a setting in the same words.
func TestUnknownSettingInAJob(t *testing.T) {
	for _, name := range []string{"loopback", "sci", "udp", "nbrhd"} {
		cfg := core.Config{Conduit: name, Segment: "0", Settings: map[string]string{"no-such-setting": "1"}}
		err := core.RunGoroutines(1, cfg, func(j *core.Job) error {
			_, err := j.Attach(core.AttachSpec{})
			return err
		})
		if want := fmt.Sprintf(`core: rank 0: %s: setting no-such-setting="1": unknown; there are `, name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestSettingsInREADMEs compares the tables in the conduits' READMEs with what aqrun prints. Of the parts of
// a conduit the README leaves the settings to those of the parts.
func TestSettingsInREADMEs(t *testing.T) {
	const head = "| Setting | Kind | Values | Default | Ranks | Profiles | Meaning |\n| --- | --- | --- | --- | --- | --- | --- |"
	for _, d := range core.Drivers() {
		path := filepath.Join("..", "..", "conduits", d.Name, "README.md")
		if below, _ := filepath.Glob(filepath.Join("..", "..", "conduits", "*", d.Name, "README.md")); len(below) == 1 {
			path = below[0] // one of a family
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Errorf("conduit %s has no README: %v", d.Name, err)
			continue
		}
		var want, got []string
		all := known.Variants(&d)
		for _, l := range settingsIn(&d, all) {
			if !strings.Contains(l.Key, ".") {
				want = append(want, "| `"+l.Key+"` | "+strings.Join(l.row(len(all))[1:], " | ")+" |")
			}
		}
		_, after, found := strings.Cut(string(text), head+"\n")
		for found {
			var rows string
			rows, after, _ = strings.Cut(after, "\n\n")
			got = append(got, strings.Split(rows, "\n")...)
			_, after, found = strings.Cut(after, head+"\n")
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s does not have the settings that 'aqrun conduits %s' prints; its table is to be\n%s\n%s", path, d.Name, head, strings.Join(want, "\n"))
		}
	}
}

func TestConduitSettings(t *testing.T) {
	for _, c := range []struct{ name, has, not string }{
		{"udp", "window number 1 to 131072 131072 agree all packets in flight", "near."},
		{"nbrhd/sci/paper+udp", "near.faults number 2 or more, or none none agree all", "near.dma-from"},
		{"nbrhd", "near.latency time 0s to 1h 1us agree loopback+udp", "near.dma-from"},
		{"sci/d339", "dma-from size 1 or more, or never or auto auto agree all", "store or fence"},
		{"mpi", "machine file the name of a machine, or the path of a machine file scampi agree scampi", "near."},
	} {
		status, out, errs := output(t, "", "conduits", c.name)
		out = strings.Join(strings.Fields(out), " ")
		if status != 0 || errs != "" || !strings.Contains(out, c.has) || strings.Contains(out, c.not) {
			t.Errorf("%s: status %d, want %q and not %q\n%s%s", c.name, status, c.has, c.not, out, errs)
		}
	}
}
