package spawner

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Launch says how the agents of a job's hosts are started. The zero value starts them by ssh.
type Launch struct {
	// Launcher is the name of a registered launcher, or a template: words separated by blanks that cannot be
	// quoted, in which %H becomes the host's name, %N the number of hosts, %L the names of all, joined by commas, %C the words of
	// the agent's command, and %% a percent sign. A template without %H starts the agents of all hosts by one process (see
	// Launcher.Together). "": "ssh".
	Launcher string
	// KeyFile is the path of a file with the key of agents that are started together, the same on all hosts and here, such as
	// `openssl rand -hex 32` makes; others than its owner may not read it. "": a new key, which the environment carries.
	KeyFile string
	// Agent is the path of this program on the hosts; "": that of this process. Where ssh finds none there, it
	// takes the program of that name in the host's PATH.
	Agent string
	// Push has this program copied to the hosts in place of Agent, into a fresh directory that is removed as soon as the
	// agent runs. Only ssh can do that.
	Push bool
	// ByName has hosts be told apart by their names alone. Else two that are one, by what their agents find, are refused.
	ByName bool
	// Timeout is how long all agents together may take to start. 0: DefaultStartTime.
	Timeout time.Duration
	// Width is how many agents the Job, and each agent, starts at most; the others are started by these. 0:
	// DefaultTreeWidth.
	Width int
	// Silence is how long nothing may be heard of an agent, or an agent hear nothing, before that counts as lost. 0:
	// DefaultSilence.
	Silence time.Duration

	link func(branch) (io.ReadWriteCloser, error) // in place of the processes that connect agents, for tests
}

// DefaultStartTime is how long agents may take to start, if a Launch does not say.
const DefaultStartTime = 60 * time.Second

// DefaultSilence is how long an agent may be silent, if a Launch does not say. A network that loses one direction only
// still lets something through at first, and jobs are to end within 10 seconds.
const DefaultSilence = 6 * time.Second

// MinSilence is the shortest that a Launch may say.
const MinSilence = time.Second

// Launcher is a way to start a command on a host, with its standard input and output connected to here.
type Launcher struct {
	Name  string
	About string // a line for people
	// Command returns the argument list of the process on this host that does it. The first word is looked up
	// in PATH. command is for the far host to execute: an absolute path and an argument.
	Command func(host string, command []string) []string
	// Together returns, in place of Command, the argument list of the one process that executes the command on all hosts,
	// once on each. No stream comes of that: the agents connect, by TLS 1.3 under the job's key. Their hosts are told by the
	// names that they give themselves, or by their addresses. The process gets the key in its environment and
	// has to pass that on, unless there is a Launch.KeyFile. It may end before the agents do, but if it fails before all have come, the
	// start fails.
	Together func(hosts, command []string) []string
	// Push returns in the same way what copies so many bytes from its standard input, once it has said
	// "AQUEDUCT push" on a line of its own, to a file of that name in a fresh directory, and executes it there with the arguments
	// "aqueduct-agent" and the directory. nil: it cannot.
	Push func(host, name string, size int64) []string
	// Pretends says that the launcher's hosts may all be one: they are told apart by their names.
	Pretends bool
	// Missing says how to get the program that Command names first.
	Missing string
}

var launchers = []Launcher{
	{
		Name: "local", About: "this host pretends to be all of them, for tests", Pretends: true,
		Command: func(_ string, command []string) []string { return command },
	},
	{
		Name: "ssh", About: "the program ssh, with the user's configuration; hosts must let in without a password",
		Command: func(host string, command []string) []string {
			name := command[0][strings.LastIndexByte(command[0], '/')+1:]
			return ssh(host, sshScript, command[0], name, command[1])
		},
		Push: func(host, name string, size int64) []string {
			return ssh(host, pushScript, name, strconv.FormatInt(size, 10), agentName)
		},
		Missing: "install OpenSSH's client (on Debian: apt-get install openssh-client)",
	},
}

// ssh returns the command that has a host execute a script of sh.
func ssh(host, script string, args ...string) []string {
	return []string{"ssh", "-T", "-o", "BatchMode=yes", "--", host, "exec " + quote(slices.Concat([]string{"sh", "-c", script}, args))}
}

// pushReady is what comes from a host before what is pushed there.
const pushReady = "\nAQUEDUCT push\n"

// pushDir begins the name of the directory where that lies.
const pushDir = "aqueduct-push-"

// pushScript makes the first $1 bytes of its input a program $0 and executes that with the argument $2.
const pushScript = `t=${TMPDIR:-/tmp}; ` +
	`no() { echo "$t: $2; have TMPDIR there name a directory with room for $1 bytes where programs may be executed" >&2; exit 1; }; ` +
	`d=$(mktemp -d "$t/` + pushDir + `XXXXXX" 2>&1) || no "$1" "$d"; ` +
	`trap 'rm -rf "$d"' EXIT; trap 'exit 1' HUP INT TERM; ` +
	`printf "\nAQUEDUCT push\n"; e=$( { head -c "$1" >"$d/$0" && chmod 700 "$d/$0"; } 2>&1) && [ -x "$d/$0" ] || ` +
	`no "$1" "${e:-it takes no programs}"; exec "$d/$0" "$2" "$d"`

// RegisterLauncher makes a launcher known by its name. It is called before Start, as by an init function. A
// name that is taken is a panic.
func RegisterLauncher(l Launcher) {
	if _, err := launcherByName(l.Name); err == nil || l.Name == "" || (l.Command == nil) == (l.Together == nil) {
		panic(fmt.Sprintf("spawner: RegisterLauncher: launcher %q exists, or is incomplete", l.Name))
	}
	launchers = append(launchers, l)
}

// Launchers returns those that are registered.
func Launchers() []Launcher { return slices.Clone(launchers) }

func launcherByName(name string) (*Launcher, error) {
	var known []string
	for i := range launchers {
		if launchers[i].Name == name {
			return &launchers[i], nil
		}
		known = append(known, launchers[i].Name)
	}
	return nil, fmt.Errorf("there is no launcher %q; known: %s, or a template such as 'mycommand %%H %%C'", name, strings.Join(known, ", "))
}

// launcher returns the launcher that l names, for jobs on the hosts.
func (l *Launch) launcher(hosts []string) (*Launcher, error) {
	if !strings.ContainsAny(l.Launcher, " %") {
		return launcherByName(cmp.Or(l.Launcher, "ssh"))
	}
	words := strings.Fields(l.Launcher)
	if len(words) == 0 || !strings.Contains(l.Launcher, "%C") {
		return nil, fmt.Errorf("launcher %q: a template has %%C, the command that it is to run on host %%H", l.Launcher)
	}
	if strings.ContainsAny(l.Launcher, `'"\`) {
		return nil, fmt.Errorf("launcher %q: the words of a template are separated by blanks and cannot be quoted; put into a script what needs quotes", l.Launcher)
	}
	filled := func(host string, command []string) (argv []string) {
		in := strings.NewReplacer("%%", "%", "%H", host, "%N", strconv.Itoa(len(hosts)), "%L", strings.Join(hosts, ","), "%C", quote(command))
		for _, w := range words {
			if w == "%C" {
				argv = append(argv, command...)
				continue
			}
			argv = append(argv, in.Replace(w))
		}
		return argv
	}
	if strings.Contains(strings.ReplaceAll(l.Launcher, "%%", ""), "%H") {
		return &Launcher{Name: words[0], Command: filled}, nil
	}
	return &Launcher{Name: words[0], Together: func(_, command []string) []string { return filled("", command) }}, nil
}

// timeout returns how long agents may take to start.
func (l *Launch) timeout() time.Duration { return cmp.Or(l.Timeout, DefaultStartTime) }

// width returns how many agents the Job and each agent start at most.
func (l *Launch) width() int { return cmp.Or(l.Width, DefaultTreeWidth) }

// silence returns how long an agent may be silent.
func (l *Launch) silence() time.Duration { return cmp.Or(l.Silence, beats*pulse) }

// sshScript executes $0 if there is such a program, or else $1 from PATH, with the argument $2.
const sshScript = `if [ -x "$0" ]; then exec "$0" "$2"; fi; ` +
	`if command -v "$1" >/dev/null 2>&1; then exec "$1" "$2"; fi; ` +
	`echo "there is no $0 here that may be executed, and no $1 in PATH" >&2; exit 127`

// agent returns the command that a host is to execute.
func (l *Launch) agent() (command []string, err error) {
	path := l.Agent
	if path == "" {
		path, err = os.Executable()
	}
	return []string{path, agentName}, err
}

// checkHosts refuses hosts that cannot be, and what cannot be done with several.
func (s *Spec) checkHosts() error {
	if s.Hosts == nil {
		return nil
	}
	n, err := placement(s.HostOf).check()
	switch {
	case err != nil:
		return failure(statusUsage, "%v", err)
	case len(s.HostOf) != s.N || n != len(s.Hosts):
		return failure(statusUsage, "%d ranks on %d hosts, but %d are placed on %d", s.N, len(s.Hosts), len(s.HostOf), n)
	case s.Mode != Processes:
		return failure(statusUsage, "ranks that share a process cannot be on other hosts")
	case s.started():
		return failure(statusUsage, "the ranks are started by %s, which is to be told of their hosts by its own options", s.starterName())
	}
	switch l := &s.Launch; {
	case l.Width < 0:
		return failure(statusUsage, "a tree of agents of width %d cannot be; it is 1 or more", l.Width)
	case l.Silence != 0 && l.Silence < MinSilence:
		return failure(statusUsage, "agents that may be silent for %v only are lost too soon; the least is %v", l.Silence, MinSilence)
	}
	for i, name := range s.Hosts {
		if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, " \t\n'\"\\$`;&|<>()") {
			return failure(statusUsage, "%q is no name of a host", name)
		}
		if slices.Contains(s.Hosts[:i], name) {
			return failure(statusUsage, "host %s is named twice", name)
		}
	}
	return nil
}

// starts returns the launcher, and how the agents of all hosts are started. Nobody needs ssh to reach this host, so it
// comes first: then who starts its agent is here.
func (s *Spec) starts() (l *Launcher, all []start, err error) {
	l, err = s.Launch.launcher(s.Hosts)
	if err != nil {
		return nil, nil, failure(statusUsage, "%v", err)
	}
	switch {
	case s.Launch.KeyFile != "" && l.Together == nil:
		return nil, nil, failure(statusUsage, "launcher %s connects each agent itself, and has no use for the key in %s", l.Name, s.Launch.KeyFile)
	case strings.ContainsFunc(s.Launch.KeyFile, special):
		return nil, nil, failure(statusUsage, "%q has characters that the path of a key cannot have, as it is a word of commands", s.Launch.KeyFile)
	}
	agent, err := s.Launch.agent()
	if err != nil {
		return nil, nil, failure(statusSelf, "%v", err)
	}
	var pushed int64
	if s.Launch.Push {
		info, err := os.Stat(agent[0])
		switch {
		case l.Push == nil:
			return nil, nil, failure(statusUsage, "launcher %s cannot push programs; copy %s to the hosts", l.Name, agent[0])
		case err != nil:
			return nil, nil, failure(statusSelf, "pushing this program: %v", err)
		}
		pushed = info.Size()
	}
	var others []start
	for i, host := range s.Hosts {
		switch {
		case l.Name == "ssh" && IsHere(host):
			all = append(all, start{Host: i, Name: host, Argv: agent})
		case l.Together != nil:
			others = append(others, start{Host: i, Name: host})
		case s.Launch.Push:
			others = append(others, start{i, host, l.Push(host, filepath.Base(agent[0]), pushed), true})
		default:
			others = append(others, start{Host: i, Name: host, Argv: l.Command(host, agent)})
		}
	}
	return l, append(all, others...), nil
}

// IsHere reports whether a name is one of this host: localhost, or the name that the host gives itself, with its domain or without.
func IsHere(name string) bool {
	own, err := os.Hostname()
	short, _, _ := strings.Cut(own, ".")
	return name == "localhost" || err == nil && (name == own || name == short)
}

// find returns the path of a program that the launcher needs here.
func (b *branch) find(program string) (path string, err error) {
	path, err = exec.LookPath(program)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", failure(statusSelf, "launcher %s: there is no program %s in PATH: %s", b.Launcher, program, cmp.Or(b.Missing, "is it installed?"))
	case err != nil:
		return "", failure(statusSelf, "launcher %s: %v", b.Launcher, err)
	}
	return path, nil
}
