package spawner

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/internal/mtls"
	"github.com/aqueduct-go/aqueduct/internal/porttest"
	"github.com/aqueduct-go/aqueduct/internal/wire"
)

// summons are what the launcher of that name is to do: it executes the command, and hands on what it is given.
type summons struct {
	*cluster
	t       testing.TB
	command []string
	given   chan []string
	keyFile string
}

// summonses are those of tests, by the name of the first host.
var summonses = make(map[string]*summons)

func init() {
	RegisterLauncher(Launcher{Name: "test-together", Pretends: true, Together: func(hosts, command []string) []string {
		s := summonses[hosts[0]]
		s.given <- command[2:]
		return s.command
	}})
}

// newSummons makes ready for a job whose ranks act by the script.
func newSummons(t testing.TB, script func(rank, step int) act, command ...string) *summons {
	s := &summons{cluster: &cluster{script: script}, t: t, command: command, given: make(chan []string, 1), keyFile: filepath.Join(t.TempDir(), "key")}
	key := mtls.NewKey()
	if err := os.WriteFile(s.keyFile, []byte(hex.EncodeToString(key[:])), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs the job on so many hosts, named host0.example and so on. Meanwhile the function has agents come.
func (s *summons) run(hosts, width int, limit time.Duration, come func(*summon)) (status int, said string) {
	s.t.Helper()
	s.ended = make(map[int]syscall.WaitStatus)
	var text bytes.Buffer
	spec := Spec{N: hosts, HostOf: oneEach(hosts), Prog: "prog", Stderr: &text, Launch: Launch{Launcher: "test-together", Width: width, KeyFile: s.keyFile, Timeout: limit}}
	for h := range hosts {
		spec.Hosts = append(spec.Hosts, fmt.Sprintf("host%d.example", h))
	}
	summonses[spec.Hosts[0]] = s
	came := done(func() {
		told, err := readSummon(<-s.given)
		if err != nil {
			s.t.Error(err)
			return
		}
		come(told)
	})
	j, err := Start(context.Background(), spec)
	<-came
	if err != nil {
		s.agents.Wait()
		return core.StatusOf(err), err.Error()
	}
	status, _ = j.Wait()
	s.agents.Wait()
	return status, text.String()
}

// agent has the agent of a host come, and tells how that ends.
func (s *summons) agent(told *summon, name string) <-chan error {
	ended := make(chan error, 1)
	s.agents.Go(func() {
		c, d, err := told.enter(name)
		if err == nil {
			a := newCaller(c, d)
			a.prepare = func(o *task, ranks []int) (ownHost, map[int]string, error) {
				return s.actors(a, ranks), map[int]string{0: "the same"}, nil
			}
			err = a.serve(time.Minute)
		}
		ended <- err
	})
	return ended
}

// Agents that come in any order find their places in a tree of bounded width, and the job runs.
func TestAgentsThatCome(t *testing.T) {
	const hosts = 40
	for _, width := range []int{1, 3, hosts} {
		s := newSummons(t, ordinary(3), "true")
		status, said := s.run(hosts, width, 0, func(told *summon) {
			if c, err := told.key.Dial(t.Context(), callProtocol, told.at[0]); err != nil {
				t.Error(err)
			} else {
				c.Close() // as an agent that was let in at another address
			}
			for n, h := range rand.Perm(hosts) {
				name := fmt.Sprintf("host%d", h)
				if n%2 == 0 {
					name += ".example"
				}
				s.agent(told, name)
			}
		})
		if status != 0 || said != "" || len(s.ended) != hosts {
			t.Errorf("width %d: status %d, %d ranks have ended: %s", width, status, len(s.ended), said)
		}
	}
}

// Addresses at which nobody answers, however many, keep no agent from the one that is right.
func TestDeadAddresses(t *testing.T) {
	var dead []string
	for range 4 { // one after the other they would take longer than an agent tries
		dead = append(dead, porttest.Dead(t))
	}
	s := newSummons(t, ordinary(1), "true")
	status, said := s.run(2, 1, 0, func(told *summon) {
		other := *told
		other.at = append(dead, told.at...)
		s.agent(&other, "host0")
		s.agent(&other, "host1")
	})
	if status != 0 || said != "" || len(s.ended) != 2 {
		t.Errorf("status %d, %d ranks have ended: %s", status, len(s.ended), said)
	}
}

// Who comes that is none of the job's agents is refused, by name, and keeps nobody out.
func TestStrangersAmongAgents(t *testing.T) {
	s := newSummons(t, ordinary(1), "true")
	refused := func(told *summon, name, want string) {
		if err := <-s.agent(told, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	status, said := s.run(4, 2, 0, func(told *summon) {
		other := *told
		other.job = "another"
		refused(&other, "host1", "it is of another job")
		refused(told, "stranger", "neither its name nor its address")
		c, err := told.key.Dial(t.Context(), callProtocol, told.at[0])
		if err != nil {
			t.Error(err)
			return
		}
		c.Write([]byte{255, 255, 255, 255, 1}) // a frame of 4 GB
		c.Read(make([]byte, 1))
		c.Close()
		silent, err := net.Dial("tcp", told.at[0])
		if err != nil {
			t.Error(err)
			return
		}
		defer silent.Close()
		s.agent(told, "host1")
		s.agent(told, "host2")
		first, second := s.agent(told, "host3"), s.agent(told, "host3")
		select { // the one that comes later
		case err = <-first:
		case err = <-second:
		}
		if err == nil || !strings.Contains(err.Error(), "there is an agent of host host3.example already") {
			t.Error(err)
		}
		s.agent(told, "host0")
	})
	for _, want := range []string{"it is of another job", "neither its name nor its address", "a frame of 4294967295 bytes", "there is an agent of host host3.example already"} {
		if !strings.Contains(said, want) {
			t.Errorf("not said: %q", want)
		}
	}
	if status != 0 || len(s.ended) != 4 {
		t.Errorf("status %d: %s", status, said)
	}
}

// A host whose agent does not come is named, at the latest when the time is up, and so is a command that fails.
func TestAgentsThatDoNotCome(t *testing.T) {
	for _, c := range []struct {
		name    string
		command []string
		limit   time.Duration
		want    string
	}{
		{"one", []string{"echo", "two of three"}, time.Second, "host host2.example: its agent has not answered within 1s; launcher test-together said last: two of three"},
		{"command", []string{"/usr/bin/sh", "-c", "echo no such allocation >&2; exit 3"}, time.Minute,
			"launcher test-together could not start the agents: sh exited with status 3; it said last: no such allocation"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSummons(t, ordinary(1), c.command...)
			status, said := s.run(3, 1, c.limit, func(told *summon) {
				if c.name == "one" {
					s.agent(told, "host0")
					s.agent(told, "host1")
				}
			})
			if status != statusSelf || !strings.Contains(said, c.want) || strings.Count(said, "\n") > 0 {
				t.Errorf("status %d: %q, want %q", status, said, c.want)
			}
		})
	}
}

// Which host an agent is on.
func TestHostOfAnAgent(t *testing.T) {
	own, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	d := &door{hosts: []string{"alpha", "beta.one.example", "beta.two.example", "127.0.0.9", "10.1.1.1", "localhost"}}
	for _, c := range []struct {
		name, from string
		want       int
	}{
		{"alpha", "10.9.9.9", 0},
		{"alpha.cluster.example", "10.9.9.9", 0},
		{"beta.two.example", "10.9.9.9", 2},
		{"beta", "10.9.9.9", -1}, // of two
		{"beta", "127.0.0.9", 3},
		{"elsewhere", "10.1.1.1", 4},
		{"10.2.2.2", "10.9.9.9", -1}, // an address has no domain
		{own, "10.9.9.9", 5},
		{"elsewhere", "10.9.9.9", -1},
	} {
		if got := d.find(c.name, c.from); got != c.want {
			t.Errorf("%s from %s: host %d, want %d", c.name, c.from, got, c.want)
		}
	}
}

// What an agent is told comes whole, or is refused.
func TestSummon(t *testing.T) {
	s := summon{job: "0123", at: []string{"10.0.0.1:4000", "[fd00::1]:4000"}, key: mtls.NewKey()}
	digits := hex.EncodeToString(s.key[:])
	t.Setenv(envAgentKey, digits)
	if words := s.arguments(""); quote(words) != strings.Join(words, " ") {
		t.Errorf("a shell would not take %q as it is", words)
	}
	got, err := readSummon(s.arguments(""))
	if err != nil || got.job != s.job || fmt.Sprint(got.at) != fmt.Sprint(s.at) || got.key != s.key {
		t.Errorf("%+v, %v", got, err)
	}
	if _, there := os.LookupEnv(envAgentKey); there {
		t.Error("the key is in the environment still")
	}
	for _, c := range []struct{ argument, key, want string }{
		{"call:0123", digits, "does not say whom to call"},
		{"call:0123@10.0.0.1:4000", "0123", "is not a key"},
		{"call:0123@10.0.0.1:4000", "", "does not pass variables on"},
	} {
		if c.key != "" {
			t.Setenv(envAgentKey, c.key)
		}
		if _, err := readSummon([]string{c.argument}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.argument, err, c.want)
		}
	}
}

// Whatever somebody says who has the key, the door neither panics nor lets in who has no place.
func FuzzDoor(f *testing.F) {
	f.Add(encode(wordCall, func(b []byte) []byte {
		return append(b, marshal(call{Job: "job", Name: "10.0.0.1", Host: -1, Port: 1})...)
	}), true)
	f.Add(encode(wordCall, func(b []byte) []byte { return append(b, marshal(call{Job: "job", Host: 3})...) }), false)
	f.Add([]byte{1, 0, 0, 0, byte(wordCall)}, false)
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, b []byte, jobs bool) {
		d := &door{job: "job", seats: make(map[int]*seat), above: make(map[int]int), known: make(map[int]string), turned: make(map[int][]move), refused: func(string) {}, came: func(int, string) {}}
		if jobs {
			d.hosts = []string{"10.0.0.1", "10.0.0.2"} // which nobody has to be asked for
		}
		root := &branch{Width: 1, Below: []start{{Host: 0}, {Host: 1}}}
		for _, one := range root.split() {
			d.link(one)
		}
		ours, theirs := net.Pipe()
		go func() {
			theirs.Write(b)
			theirs.Close() // else the door waits for what is missing
		}()
		if err := d.receive(ours); err == nil {
			body, _, err := wire.NextFrame(b, 4096) // who has hung up before the end of it is not let in, and not turned away
			if err == nil && (len(body) == 0 || word(body[0]) != wordCall) || errors.Is(err, wire.ErrTooLong) {
				t.Errorf("%q is let in", b)
			}
		}
		ours.Close()
	})
}
