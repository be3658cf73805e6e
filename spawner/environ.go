package spawner

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Variables by which a launcher tells a rank who it is. EnvSecret is removed from the
// rank's environment by Connect, so that its own children do not inherit it.
const (
	EnvJob    = "AQUEDUCT_JOB"    // names the job: what all its processes have in common
	EnvRank   = "AQUEDUCT_RANK"   // decimal, 0 ≤ rank < size; or $NAME for the variable that holds it
	EnvSize   = "AQUEDUCT_SIZE"   // decimal, ranks of the job
	EnvSocket = "AQUEDUCT_SOCKET" // path of the launcher's UNIX socket
	EnvSecret = "AQUEDUCT_SECRET" // 32 bytes in hexadecimal
)

// Variables of a static job, whose ranks are started without a launcher (see Static), beside EnvRank and EnvSize.
const (
	EnvRoot         = "AQUEDUCT_ROOT"          // host:port at which rank 0 is reached
	EnvKeyFile      = "AQUEDUCT_KEY_FILE"      // path of the file with the key that all ranks have, see mtls.ReadKey
	EnvStartTimeout = "AQUEDUCT_START_TIMEOUT" // a Go duration: how long ranks wait for each other; DefaultStartTimeout if not set
	EnvHostTimeout  = "AQUEDUCT_HOST_TIMEOUT"  // a Go duration: how long nothing may be heard of a rank; DefaultSilence if not set
)

// Variables of a job whose ranks all live in the one process that is started.
const (
	EnvRanks = "AQUEDUCT_RANKS" // decimal, ranks of the job
	EnvMode  = "AQUEDUCT_MODE"  // a Mode: "goroutines" or "model"
)

// Variables that choose how the job runs. They are inherited from the launcher's own
// environment unless the Spec says otherwise.
const (
	EnvConduit = "AQUEDUCT_CONDUIT" // name of a registered conduit
	EnvProfile = "AQUEDUCT_PROFILE" // one of the conduit's profiles
	EnvSegment = "AQUEDUCT_SEGMENT" // segment size as core.ParseSize reads it
	EnvGrace   = "AQUEDUCT_GRACE"   // a Go duration: how long a rank may outlive its job
)

// identity holds the variables that only a launcher may set: a rank must not take those
// of another job, which its launcher may have in its own environment, for its own.
var identity = []string{EnvJob, EnvRank, EnvSize, EnvSocket, EnvSecret, EnvRoot, EnvKeyFile, EnvRanks, EnvMode, envAgentKey}

// chosen maps the variables that a Spec has a field for to that field and aqrun's option,
// so that nothing is said in two ways.
var chosen = map[string]string{
	EnvConduit: "Spec.Conduit or --conduit",
	EnvProfile: "Spec.Profile or --profile",
	EnvSegment: "Spec.Segment or --segment",
	EnvGrace:   "Spec.Grace or --grace",
	EnvMode:    "Spec.Mode, --goroutines or --model",
	EnvRanks:   "Spec.N or -n",
}

// checkEnv refuses settings that no process could have or that only a launcher may make.
func checkEnv(settings []string) error {
	for _, s := range settings {
		name, _, ok := strings.Cut(s, "=")
		switch {
		case !ok || name == "" || strings.ContainsRune(s, 0):
			return fmt.Errorf("environment setting %q is not of the form NAME=value", s)
		case chosen[name] != "":
			return fmt.Errorf("%s is set by the launcher; choose it by %s", name, chosen[name])
		case slices.Contains(identity, name):
			return fmt.Errorf("%s is set by the launcher, for each rank, and cannot be chosen", name)
		}
	}
	return nil
}

// env returns what the ranks have beside the launcher's environment and the spawner's own settings.
func (s *Spec) env() []string {
	if s.started() {
		return slices.Concat(s.Env, s.Starter.Env)
	}
	return s.Env
}

// hidden returns the variables of the launcher's environment that the starter does not inherit.
func (s *Spec) hidden() (names []string) {
	if !s.started() || s.Starter.Hides == nil {
		return nil
	}
	for _, setting := range os.Environ() {
		if name, _, _ := strings.Cut(setting, "="); s.Starter.Hides(name) {
			names = append(names, name)
		}
	}
	return names
}

// inherited returns what the processes have of the launcher's environment.
func (s *Spec) inherited() []string {
	hidden := s.hidden()
	return slices.DeleteFunc(os.Environ(), func(setting string) bool {
		name, _, _ := strings.Cut(setting, "=")
		return slices.Contains(hidden, name)
	})
}

// mergeEnv joins environments; the last setting of a name wins, in the place of its first.
// Identity variables are dropped from the first list.
func mergeEnv(inherited []string, more ...[]string) []string {
	var env []string
	at := make(map[string]int)
	add := func(s string) {
		name, _, _ := strings.Cut(s, "=")
		if i, ok := at[name]; ok {
			env[i] = s
			return
		}
		at[name] = len(env)
		env = append(env, s)
	}
	for _, s := range inherited {
		if name, _, _ := strings.Cut(s, "="); !slices.Contains(identity, name) {
			add(s)
		}
	}
	for _, list := range more {
		for _, s := range list {
			add(s)
		}
	}
	return env
}
