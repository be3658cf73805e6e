package pmi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A line is a command, or a reply to one, without its end of line.

const (
	// maxRequest is the longest line that every launcher reads at once, with its end: Slurm's takes no more.
	maxRequest = 1024
	// maxReply is more than any reply takes to what this package asks: the longest is one to get, of a value that
	// went out in a request.
	maxReply = 4096
)

// reply is a line that was received.
type reply struct {
	cmd   string
	attrs map[string]string
}

// parse reads a line. Words without "=" belong to the value before them, as in texts of errors.
func parse(line string) (reply, error) {
	if strings.ContainsFunc(line, func(c rune) bool { return c < ' ' || c > '~' }) {
		return reply{}, fmt.Errorf("%.80q is not text", line)
	}
	r := reply{attrs: make(map[string]string)}
	last := ""
	for word := range strings.FieldsSeq(line) {
		key, value, ok := strings.Cut(word, "=")
		switch {
		case last == "" && (key != "cmd" || value == ""):
			return reply{}, fmt.Errorf("%.80q does not begin with cmd=", line)
		case last == "":
			r.cmd, last = value, key
		case !ok && last == "cmd":
			return reply{}, fmt.Errorf("%.80q has more than a word as its command", line)
		case !ok:
			r.attrs[last] += " " + word
		default:
			if _, again := r.attrs[key]; again || key == "" || key == "cmd" {
				return reply{}, fmt.Errorf("%.80q has %q again, or a value without a name", line, key)
			}
			r.attrs[key], last = value, key
		}
	}
	if r.cmd == "" {
		return reply{}, errors.New("an empty line")
	}
	return r, nil
}

// check returns nil if the reply is the one to be expected, and says that the request was carried out.
func (r *reply) check(cmd string) error {
	if r.cmd != cmd {
		return fmt.Errorf("it answers %.40q where %q belongs", r.cmd, cmd)
	}
	if rc := r.attrs["rc"]; rc != "" && rc != "0" {
		return fmt.Errorf("it refuses that: rc=%.20s %.200s", rc, r.attrs["msg"])
	}
	return nil
}

// number returns an attribute that is a number within limits.
func (r *reply) number(key string, low, high int) (int, error) {
	text, ok := r.attrs[key]
	n, err := strconv.Atoi(text)
	if !ok || err != nil || n < low || n > high {
		return 0, fmt.Errorf("%s=%.40q is no number from %d to %d", key, text, low, high)
	}
	return n, nil
}
