package cluster_test

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aqueduct-go/aqueduct/spawner/spawntest/cluster"
)

// The test program hears or says something on a host, if it has an argument.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "hear":
		conn, err := net.ListenPacket("udp4", ":4000")
		fmt.Println("hears", err)
		for buf := make([]byte, 100); err == nil; {
			var n int
			n, _, err = conn.ReadFrom(buf)
			fmt.Printf("%s\n", buf[:n])
		}
	case len(os.Args) == 4 && os.Args[1] == "say":
		conn, err := net.Dial("udp4", os.Args[2]+":4000")
		if err == nil {
			_, err = fmt.Fprint(conn, os.Args[3])
		}
		fmt.Print(err)
	default:
		os.Exit(m.Run())
	}
}

// speech is a cluster of which hosts say something to each other.
type speech struct {
	*cluster.Cluster
	t    *testing.T
	self string
}

// hear has a host hear, and returns the lines that it has heard.
func (s *speech) hear(name string) *bufio.Scanner {
	s.t.Helper()
	cmd := s.Command(name, s.self, "hear")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { s.Down(s.t, name); cmd.Wait() })
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "hears <nil>" {
		s.t.Fatalf("%s %s", name, lines.Text())
	}
	return lines
}

func (s *speech) say(from, to, text string) {
	s.t.Helper()
	if out, err := s.Command(from, s.self, "say", to, text).CombinedOutput(); err != nil || string(out) != "<nil>" {
		s.t.Fatalf("%s: %v\n%s", from, err, out)
	}
}

// What is lost is lost in silence and in one direction; nothing else is, and what is mended works.
func TestLosses(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &speech{cluster.New(t, "alpha", "beta"), t, self}
	alpha, beta := s.hear("alpha"), s.hear("beta")
	next := func(lines *bufio.Scanner, want string) {
		t.Helper()
		if lines.Scan(); lines.Text() != want {
			t.Errorf("heard %q, want %q", lines.Text(), want)
		}
	}
	s.say("alpha", "beta", "before")
	next(beta, "before")
	s.Lose(t, "alpha", "beta")
	s.say("alpha", "beta", "lost")
	s.say("beta", "alpha", "the other way")
	next(alpha, "the other way")
	s.Find(t, "alpha", "beta")
	s.say("alpha", "beta", "found")
	next(beta, "found")
	s.Unplug(t, "beta")
	s.say("alpha", "beta", "lost")
	s.Plug(t, "beta")
	s.say("alpha", "beta", "plugged")
	next(beta, "plugged")

	before := s.Sent(t, "alpha", "eth0")
	s.say("alpha", "beta", strings.Repeat("x", 50))
	next(beta, strings.Repeat("x", 50))
	// Headers of Ethernet, IP and UDP; and, now and then, a question for an address.
	if sent := s.Sent(t, "alpha", "eth0") - before; sent < 14+20+8+50 || sent > 2*(14+20+8+50) || s.Sent(t, "alpha", "lo") != 0 {
		t.Errorf("alpha has sent %d bytes, and %d to itself", sent, s.Sent(t, "alpha", "lo"))
	}
}

// A host that has lost power has nothing on it when it comes up again, and what is left on a host is seen.
func TestDownAndUp(t *testing.T) {
	c := cluster.New(t, "alpha", "beta")
	run := func(name, script string) string {
		t.Helper()
		out, err := c.Command(name, "sh", "-c", script).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		return string(out)
	}
	if out := run("alpha", "hostname; echo data >/dev/shm/file"); out != "alpha\n" {
		t.Errorf("its name is %q", out)
	}
	const script = "echo runs; read line"
	stays := c.Command("alpha", "sh", "-c", script)
	stdin, err := stays.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	out, err := stays.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := stays.Start(); err != nil {
		t.Fatal(err)
	}
	defer stays.Wait()
	if lines := bufio.NewScanner(out); !lines.Scan() || lines.Text() != "runs" {
		t.Fatalf("%s says %q", script, lines.Text())
	}
	left := c.Left().Lines
	if len(left) != 2 || !strings.HasSuffix(left[0], ": sh -c "+script+" ") || left[1] != "alpha: /dev/shm/file" {
		t.Errorf("left is %q", left)
	}
	if out := run("beta", "cat /dev/shm/* 2>&1 || true"); strings.Contains(out, "data") {
		t.Error("hosts share their memory")
	}
	c.Down(t, "alpha")
	if left := c.Left().Lines; len(left) != 0 {
		t.Errorf("left is %q", left)
	}
	c.Up(t, "alpha")
	if left := c.Left().Lines; len(left) != 0 {
		t.Errorf("left is %q", left)
	}
	if !slices.Contains(c.Names, strings.TrimSpace(run("alpha", "hostname"))) {
		t.Error("the host has another name")
	}
}

// Servers end with their host, and what they said is known before.
func TestServe(t *testing.T) {
	c := cluster.New(t, "alpha")
	c.Serve(t, "alpha", "serving", "sh", "-c", "echo serving >&2; sleep 1000; :")
	if pids := c.Processes("alpha", "echo serving"); len(pids) == 0 {
		t.Errorf("processes %v serve", pids)
	}
	began := time.Now()
	c.Down(t, "alpha")
	if pids := c.Processes("alpha", ""); len(pids) != 0 {
		t.Errorf("processes %v have not ended after %v", pids, time.Since(began))
	}
}
