package machine_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/aqueduct-go/aqueduct/internal/machine"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

// all has a field of every kind.
type all struct {
	Ignored int
	Link    struct {
		Hop  vtime.Time   `machine:"hop"`
		Rate machine.Rate `machine:"rate"`
	} `machine:"link"`
	Room   machine.Bytes  `machine:"room"`
	Clock  machine.Period `machine:"clock"`
	Error  machine.Chance `machine:"error"`
	Ports  int            `machine:"ports"`
	Atomic bool           `machine:"atomic"`
	shaped
}

// shaped is embedded: its names are the outer's own.
type shaped struct {
	Shape string `machine:"shape"`
}

const complete = `about a machine for tests # and a comment
fit latency 3.16 us somebody measured it
link.hop 1.5 us fitted(latency) what was left
link.rate 1.5 ns/B published a standard
room 4 KB assumed round
clock 66 MHz published a standard

error 2.5 ppm assumed why not
ports 8 count published a data sheet
shape ring word assumed simple
atomic yes word published a data sheet
predict rate 100 MB/s 12.5% somebody else
`

func library(files map[string]string) *machine.Library {
	builtin := fstest.MapFS{}
	for name, text := range files {
		builtin["dir/"+name+machine.Suffix] = &fstest.MapFile{Data: []byte(text)}
	}
	builtin["dir/notes.txt"] = &fstest.MapFile{}
	return machine.Built(builtin, "dir", map[string]string{"alias": "full"})
}

func TestDecode(t *testing.T) {
	f, err := library(map[string]string{"full": complete}).Load("alias")
	if err != nil {
		t.Fatal(err)
	}
	got := all{Ignored: 7}
	if err := f.Decode(&got); err != nil {
		t.Fatal(err)
	}
	want := all{Ignored: 7, Room: 4096, Clock: 15152, Error: 2500, Ports: 8, Atomic: true, shaped: shaped{"ring"}}
	want.Link.Hop, want.Link.Rate = 1500*vtime.Nanosecond, 1_500_000
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if f.Name != "full" || f.About != "a machine for tests" {
		t.Errorf("name %q, about %q", f.Name, f.About)
	}
	if p := f.Prediction("rate"); p == nil || p.Number() != 100 || p.Within() != 0.125 || p.Source != "somebody else" {
		t.Errorf("prediction %+v", p)
	}
	if c := f.Constant("link.hop"); c.Standing != machine.Fitted || c.Fit != "latency" || c.Where != "full:3" || f.Fit(c.Fit).Number() != 3.16 {
		t.Errorf("constant %+v", c)
	}
}

func TestTimes(t *testing.T) {
	for _, c := range []struct {
		got, want vtime.Time
	}{
		{machine.Rate(1_500_000).Time(82), 123 * vtime.Nanosecond},
		{machine.Rate(62_500).Time(1 << 20), 65_536 * vtime.Nanosecond},
		{machine.Period(15152).Time(18), 272_736},
	} {
		if c.got != c.want {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
}

func TestUnits(t *testing.T) {
	for _, c := range []struct {
		kind, value, unit string
		want              int64
	}{
		{"hop", "12", "ps", 12}, {"hop", "0.001", "ns", 1}, {"hop", "2", "us", 2e6}, {"hop", "2", "ms", 2e9}, {"hop", "2", "s", 2e12}, {"hop", "0", "s", 0},
		{"rate", "667", "MB/s", 1_499_250}, {"rate", "16", "GB/s", 62_500}, {"rate", "63.5", "ps/B", 63_500}, {"rate", "1.5", "ns/B", 1_500_000},
		{"room", "3", "B", 3}, {"room", "1.5", "KB", 1536}, {"room", "1", "MB", 1 << 20},
		{"clock", "66", "MHz", 15_152}, {"clock", "1", "GHz", 1000},
		{"error", "1", "ppb", 1}, {"error", "1000000", "ppm", 1e9},
		{"count", "12", "count", 12},
	} {
		text := c.kind + " " + c.value + " " + c.unit + " assumed for the test"
		f, err := library(map[string]string{"m": text}).Load("m")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := decodeAs(t, f, c.kind); got != c.want {
			t.Errorf("%s: %d, want %d", text, got, c.want)
		}
	}
}

// decodeAs returns the one constant of f, which has the name of its kind.
func decodeAs(t *testing.T, f *machine.File, kind string) int64 {
	t.Helper()
	switch kind {
	case "hop":
		return int64(decode[struct {
			X vtime.Time `machine:"hop"`
		}](t, f).X)
	case "rate":
		return int64(decode[struct {
			X machine.Rate `machine:"rate"`
		}](t, f).X)
	case "room":
		return int64(decode[struct {
			X machine.Bytes `machine:"room"`
		}](t, f).X)
	case "clock":
		return int64(decode[struct {
			X machine.Period `machine:"clock"`
		}](t, f).X)
	case "error":
		return int64(decode[struct {
			X machine.Chance `machine:"error"`
		}](t, f).X)
	}
	return int64(decode[struct {
		X int `machine:"count"`
	}](t, f).X)
}

func decode[T any](t *testing.T, f *machine.File) (v T) {
	t.Helper()
	if err := f.Decode(&v); err != nil {
		t.Error(err)
	}
	return v
}

func TestBase(t *testing.T) {
	l := library(map[string]string{
		"full":  complete,
		"child": "base alias\nabout the child\nports 9 count assumed more\npredict x 1 us 5% nobody\n",
	})
	f, err := l.Load("child")
	if err != nil {
		t.Fatal(err)
	}
	var got all
	if err := f.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if got.Ports != 9 || got.Shape != "ring" || f.About != "the child" || f.Base != "alias" {
		t.Errorf("got %+v of %+v", got, f)
	}
	if f.Prediction("rate") != nil || f.Prediction("x") == nil || f.Fit("latency") == nil {
		t.Error("predictions stay with the base, fits come along")
	}
	if names := l.Names(); !slices.Equal(names, []string{"child", "full"}) {
		t.Errorf("names %v", names)
	}
}

// TestPaths reads a user's files, which are based on each other and on a built-in one.
// TestParts has a machine consist of two: constants have a prefix, and what was published of the parts stays published.
func TestParts(t *testing.T) {
	files := map[string]string{
		"left":    "about a part\nhop 1 us fitted(time) left\nfit time 2 us somebody\npredict rate 3 MB/s 10% somebody\n",
		"right":   "about another\nhop 5 us assumed right\npredict size 4 B 10% somebody\n",
		"whole":   "about both\npart l left\npart r right\n",
		"changed": "base whole\nr.hop 6 us assumed a change\n",
	}
	f, err := library(files).Load("whole")
	if err != nil {
		t.Fatal(err)
	}
	if f.About != "both" || len(f.Constants) != 2 || f.Constant("l.hop").Value != "1" || f.Constant("r.hop").Value != "5" || f.Constant("r.hop").Where != "right:2" {
		t.Errorf("%q: %+v", f.About, f.Constants)
	}
	if f.Fit("time") == nil || f.Prediction("rate") == nil || f.Prediction("size").Where != "whole:3, right:3" {
		t.Errorf("fits %+v, predictions %+v", f.Fits, f.Predictions)
	}
	if p := f.Part("r"); len(p.Constants) != 1 || p.Constant("hop").Value != "5" || p.Prediction("size") == nil || f.Constant("r.hop") == nil {
		t.Errorf("part %+v", p)
	}
	if f, err = library(files).Load("changed"); err != nil || f.Constant("r.hop").Value != "6" || f.Constant("l.hop").Value != "1" || len(f.Predictions) > 0 {
		t.Errorf("%v: %+v", err, f)
	}
	for text, want := range map[string]string{
		"part l\n": "the line is: part", "part L left\n": "not a name", "part l left\npart l right\n": "a second part l",
		"part l left\npart m left\n": "already given", "part l left\nhop 1 us assumed x\n": "no constants of its own",
		"base right\npart l left\n": "no base", "part l nobody\n": "nobody", "part l odd\n": "based on itself",
	} {
		files["odd"] = text
		if _, err := library(files).Load("odd"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestPaths(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a":             "base ./sub/b.machine\nports 1 count assumed a\n",
		"sub/b.machine": "base c.machine\nports 2 count assumed b\nroom 2 B assumed b\n",
		"sub/c.machine": "base full\nroom 3 B assumed c\nerror 3 ppb assumed c\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	f, err := library(map[string]string{"full": complete}).Load("./a")
	if err != nil {
		t.Fatal(err)
	}
	var got all
	if err := f.Decode(&got); err != nil || got.Ports != 1 || got.Room != 2 || got.Error != 3 || got.Shape != "ring" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestOver has a library over another one: its machines are based on those below, by their aliases too, and it lists its own.
func TestOver(t *testing.T) {
	own := fstest.MapFS{"dir/own.machine": {Data: []byte("base alias\nports 9 count assumed more\n")}}
	l := machine.Built(own, "dir", nil).Over(library(map[string]string{"full": complete}))
	f, err := l.Load("own")
	if err != nil {
		t.Fatal(err)
	}
	if got := decode[all](t, f); got.Ports != 9 || got.Shape != "ring" {
		t.Errorf("got %+v", got)
	}
	if names := l.Names(); !slices.Equal(names, []string{"own"}) {
		t.Errorf("names %v", names)
	}
	if _, err := l.Load("none"); err == nil || !strings.Contains(err.Error(), "there are own") {
		t.Error(err)
	}
}

func TestWith(t *testing.T) {
	f, err := library(map[string]string{"full": complete}).Load("full")
	if err != nil {
		t.Fatal(err)
	}
	changed, err := f.With("ports", "3", "count")
	if err != nil {
		t.Fatal(err)
	}
	if f.Constant("ports").Value != "8" || changed.Constant("ports").Value != "3" || changed.Predictions != nil {
		t.Error("With changes the copy alone, which predicts nothing")
	}
	for _, c := range []struct{ name, value, unit, want string }{
		{"hops", "3", "count", `no constant "hops"`},
		{"ports", "three", "count", "not a number"},
		{"ports", "3", "parsecs", "unknown unit"},
	} {
		if _, err := f.With(c.name, c.value, c.unit); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestString reads the listing of a machine again.
func TestString(t *testing.T) {
	files := map[string]string{"full": complete, "child": "base full\nports 9 count assumed more\n"}
	for name := range files {
		f, err := library(files).Load(name)
		if err != nil {
			t.Fatal(err)
		}
		again, err := library(map[string]string{name: f.String()}).Load(name)
		if err != nil {
			t.Fatalf("%v\n%s", err, f)
		}
		var was, is all
		if err := f.Decode(&was); err != nil {
			t.Fatal(err)
		}
		if err := again.Decode(&is); err != nil || was != is || len(again.Predictions) != len(f.Predictions) {
			t.Errorf("%s: read again: %+v, want %+v (%v)", name, is, was, err)
		}
	}
}

func TestErrors(t *testing.T) {
	const ok = "a 1 us assumed x\n"
	for _, c := range []struct{ text, want string }{
		{"a 1 us assumed", "m:1: \"a\": a constant's line is"},
		{ok + "\n" + ok, "m:3: a is already given at m:1"},
		{"a 1 assumed x", "m:1: a: \"assumed\" stands where its unit should"},
		{"a 1us assumed x y", "m:1: a: \"assumed\" stands where its unit should"},
		{"a 1 us recalled x", `m:1: a: standing "recalled"`},
		{"a 1 us fitted x", `standing "fitted"`},
		{"a 1 us fitted() x", `standing "fitted()"`},
		{"a 1 us fitted(y) x", "m:1: a is fitted to y, which no fit line gives"},
		{"a 1 furlong assumed x", `unknown unit "furlong"`},
		{"a -1 us assumed x", "not a number"},
		{"a 1e9 us assumed x", "not a number"},
		{"a 1. us assumed x", "not a number"},
		{"a .5 us assumed x", "not a number"},
		{"a 1/2 us assumed x", "not a number"},
		{"a 1111111111111111111111111 us assumed x", "not a number"},
		{"a 99999999999 s assumed x", "out of range"},
		{"a 0.5 ps assumed x", "not a whole number"},
		{"a 0.5 count assumed x", "not a whole number"},
		{"a 0 MB/s assumed x", "must not be 0"},
		{"a 0.000001 MB/s assumed x", "out of range"},
		{"a 9999999999999 GHz assumed x", "out of range"},
		{"a 1000001 ppm assumed x", "more than certain"},
		{"a Ring word assumed x", "not a name"},
		{"A 1 us assumed x", "not a name"},
		{"a..b 1 us assumed x", "not a name"},
		{"a- 1 us assumed x", "not a name"},
		{"about", "m:1: about what"},
		{"about x\nabout y", "m:2: a second about"},
		{"base", "the line is: base"},
		{ok + "base m", "m:2: base comes before"},
		{"base x\nbase x", "a second base"},
		{"base m", "m is based on itself"},
		{"base nothing", `no machine is called "nothing"`},
		{"base ../dir/m.machine", "no such file"},
		{"fit a 1 us", "the line is: fit"},
		{"fit A 1 us x", "not a name"},
		{"fit a x us x", "not a number"},
		{"fit a 0.0 us x", "m:1: a: must not be 0"},
		{"predict a 0 us 5% x", "m:1: a: must not be 0"},
		{"fit a 1 us x\nfit a 1 us x", "m:2: a is already given at m:1"},
		{"predict a 1 us 10%", "the line is: predict"},
		{"predict a 1 us 10 x", "not a percentage"},
		{"predict a 1 us x% x", "not a percentage"},
		{"predict a 1 us 0% x", "m:1: a: a tolerance of 0%"},
		{"fit a 1 us x\npredict a 1 us 5% x", "m:2: a cannot be predicted: constants are fitted to it (m:1)"},
		{strings.Repeat("#", 300<<10), "has at most"},
	} {
		_, err := library(map[string]string{"m": c.text}).Load("m")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: %v, want %q", c.text, err, c.want)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"ports 8 count", "ports 8 us", "full:9: ports is in us, but must be a count"},
		{"atomic yes word", "atomic 1 count", "full:11: atomic is in count, but must be a word (yes or no)"},
		{"atomic yes word", "atomic maybe word", `atomic is "maybe", but must be yes or no`},
		{"shape ring", "form ring", "full: shape is missing"},
		{"shape ring", "form ring", "full:10: form: no such constant"},
		{"link.hop", "link.hup", "link.hup: no such constant in this kind of machine; there are link.hop, "},
	} {
		f, err := library(map[string]string{"full": strings.Replace(complete, c.from, c.to, 1)}).Load("full")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Decode(new(all)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.to, err, c.want)
		}
	}
}

// TestMissing decodes a file that was meant to have a base: one error, not one for each constant.
func TestMissing(t *testing.T) {
	f, err := library(map[string]string{"few": "ports 8 count assumed x"}).Load("few")
	if err != nil {
		t.Fatal(err)
	}
	err = f.Decode(new(all))
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "more constants are missing; a line 'base <machine>'") {
		t.Errorf("%v", err)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(complete)
	f.Add("base full\nports 9 count assumed more")
	f.Add("a 0.0000001 MB/s assumed x\npredict b 1 us 5% y")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := library(map[string]string{"full": complete, "m": text}).Load("m")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "machine: ") {
				t.Errorf("error without a place: %v", err)
			}
			return
		}
		for i := range file.Constants {
			if c := &file.Constants[i]; c.Standing == machine.Fitted && file.Fit(c.Fit) == nil {
				t.Errorf("%s is fitted to nothing", c.Name)
			}
		}
		for i := range file.Predictions {
			if name := file.Predictions[i].Name; file.Fit(name) != nil {
				t.Errorf("%s is fitted to and predicted", name)
			}
		}
		again, err := library(map[string]string{"m": file.String()}).Load("m")
		if err != nil || len(again.Constants) != len(file.Constants) || len(again.Fits) != len(file.Fits) {
			t.Errorf("the listing cannot be read again: %v\n%s", err, file)
		}
		_ = file.Decode(new(all)) // must not panic
	})
}

// TestEndless loads a file without an end: it is refused.
func TestEndless(t *testing.T) {
	t.Parallel()
	l := machine.Library{Builtin: fstest.MapFS{}}
	name := filepath.Join(t.TempDir(), "zero.machine")
	if err := os.Symlink("/dev/zero", name); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Load(name); err == nil || !strings.Contains(err.Error(), "has at most") {
		t.Error(err)
	}
}
