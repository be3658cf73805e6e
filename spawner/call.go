package spawner

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aqueduct-go/aqueduct/internal/ifaddr"
	"github.com/aqueduct-go/aqueduct/internal/mtls"
)

// This file is how an agent finds who is to tell it what to do, where one command has started the agents of all hosts.

// envAgentKey is the variable that carries the key of the job, in hexadecimal digits.
const envAgentKey = "AQUEDUCT_AGENT_KEY"

// callArgument begins the argument of an agent that is to call: the job, @, and addresses, joined by commas, at which the
// Job's door may be. The next argument, if there is one, is the path of a file with the key.
const callArgument = "call:"

// summon is what an agent is told of whom it is to call.
type summon struct {
	job string
	at  []string // host:port; one of them is right
	key mtls.Key
}

// arguments returns what follows the words that make a program an agent.
func (s *summon) arguments(keyFile string) []string {
	all := []string{callArgument + s.job + "@" + addressWord(s.at)}
	if keyFile != "" {
		all = append(all, keyFile)
	}
	return all
}

// readSummon reads the arguments, and the key. It removes the key from the environment.
func readSummon(args []string) (*summon, error) {
	job, at, ok := strings.Cut(strings.TrimPrefix(args[0], callArgument), "@")
	if !ok {
		return nil, fmt.Errorf("%q does not say whom to call", args[0])
	}
	s := &summon{job: job, at: splitAddressWord(at)}
	text, given := os.LookupEnv(envAgentKey)
	os.Unsetenv(envAgentKey)
	if len(args) > 1 {
		var err error
		s.key, err = mtls.ReadKey(args[1])
		return s, err
	}
	b, err := hex.DecodeString(text)
	switch {
	case !given:
		return nil, fmt.Errorf("there is no %s in the environment: what has started this agent does not pass variables on; give the key in a file that all hosts have, by --key-file (Launch.KeyFile)", envAgentKey)
	case err != nil || len(b) != mtls.KeySize:
		return nil, fmt.Errorf("%s is not a key, which has %d hexadecimal digits", envAgentKey, 2*mtls.KeySize)
	}
	copy(s.key[:], b)
	return s, nil
}

// callTime is how long an agent tries to reach who is to be there already, at all addresses: as long as it waits there for the first word.
const callTime = agentPatience

// enter goes from door to door until it is where the agent's place is. It returns the stream to there, and the agent's own door.
func (s *summon) enter(name string) (net.Conn, *door, error) {
	own, err := newDoor(s.key, s.job, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	c, err := s.seek(call{Job: s.job, Name: name, Host: -1, Port: own.port()})
	if err != nil {
		own.close()
		return nil, nil, err
	}
	return c, own, nil
}

// seek is enter of an agent that has a door.
func (s *summon) seek(me call) (net.Conn, error) {
	for at := s.at; ; {
		c, err := s.reach(at)
		if err != nil {
			return nil, err
		}
		c.Write(encode(wordCall, func(b []byte) []byte { return append(b, marshal(me)...) })) // an error is one of the next read
		w, r, err := readFrame(c)
		switch {
		case err != nil:
			c.Close()
			return nil, fmt.Errorf("%v: the job has ended, or begun without this host: %w", c.RemoteAddr(), err)
		case w == wordCome:
			return c, nil
		case w == wordMove:
			me.Host = int(r.Uint32())
			at = []string{string(r.Rest())}
			err = r.End()
		case w == wordRefusal:
			r.Uint32()
			err = errors.New(r.Text())
		default:
			err = fmt.Errorf("it answered with %v", w)
		}
		c.Close()
		if err != nil {
			return nil, fmt.Errorf("%v: %w", c.RemoteAddr(), err)
		}
	}
}

// reach connects with who has the key at one of the addresses.
func (s *summon) reach(at []string) (c net.Conn, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	var first error
	retry(ctx, func() bool {
		c, err = s.key.DialFirst(ctx, callProtocol, at)
		if first == nil {
			first = err
		}
		return err == nil
	})
	if err != nil {
		return nil, fmt.Errorf("the job was not reached at %s within %v: %w", strings.Join(at, ", "), callTime, first)
	}
	return c, nil
}

// The time between two attempts grows from the one to the other.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// retry calls attempt until that is over, or ctx is, and reports the former.
func retry(ctx context.Context, attempt func() (over bool)) bool {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for next := firstPause; !attempt(); next = min(2*next, lastPause) {
		pause.Reset(next)
		select {
		case <-pause.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// addressesAt returns where other hosts may reach a port of this one: at all addresses for traffic among hosts, those of IPv4 first; if there
// is none, at the loopback.
func addressesAt(port int) (all []string, err error) {
	own, err := ifaddr.Own()
	if err != nil {
		return nil, err
	}
	for _, four := range []bool{true, false} {
		for _, a := range own {
			if ip := a.Prefix.Addr(); a.Ignored == "" && ip.Is4() == four {
				all = append(all, net.JoinHostPort(ip.String(), strconv.Itoa(port)))
			}
		}
	}
	if all == nil {
		all = []string{net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
	}
	return all, nil
}

// addressWord makes addresses, host:port, a word that no shell takes for something else: joined by commas, and without the brackets of
// IPv6.
func addressWord(at []string) string {
	return strings.NewReplacer("[", "", "]", "").Replace(strings.Join(at, ","))
}

// splitAddressWord is the reverse of addressWord.
func splitAddressWord(word string) (at []string) {
	for one := range strings.SplitSeq(word, ",") {
		colon := max(0, strings.LastIndexByte(one, ':'))
		at = append(at, net.JoinHostPort(one[:colon], strings.TrimPrefix(one[colon:], ":")))
	}
	return at
}
