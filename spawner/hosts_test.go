package spawner_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct/spawner"
)

// hostsEnv has the ranks of all jobs of a test live on so many hosts.
const hostsEnv = "SPAWNER_TEST_HOSTS"

// spread puts ranks on as many hosts as the environment says.
func spread(s *spawner.Spec) {
	if n, err := strconv.Atoi(os.Getenv(hostsEnv)); err == nil && s.Hosts == nil && s.Mode == spawner.Processes {
		over(min(n, s.N))(s)
		s.Env = append(s.Env, fmt.Sprintf("HOSTS=%d", min(n, s.N)))
	}
}

// over has the ranks of a job live on so many hosts, all of which this one pretends to be.
func over(hosts int) func(*spawner.Spec) {
	return func(s *spawner.Spec) {
		s.Launch.Launcher = "local"
		for h := range hosts {
			s.Hosts = append(s.Hosts, fmt.Sprintf("host%d", h))
		}
		for rank := range s.N {
			s.HostOf = append(s.HostOf, rank%hosts)
		}
	}
}

// What jobs on one host do, those on several do.
func TestTheSameOverHosts(t *testing.T) {
	for n := range 3 {
		t.Run(fmt.Sprint(n+1), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(self(t), "-test.run=^("+strings.Join(anywhere, "|")+")$")
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", hostsEnv, n+1))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("with %s=%d: %v\n%s", hostsEnv, n+1, err, out)
			}
		})
	}
}

// anywhere are the tests of what does not depend on where ranks are.
var anywhere = []string{
	"TestCollectives", "TestLargeExchange", "TestClosedCalls", "TestRankDiesInItsHandshake",
	"TestEnvironmentOfRanks", "TestEndings", "TestEndReleasesEverything", "TestProgramThatNeverJoins", "TestFirstFailingRankWins",
	"TestRankThatNeverJoinedIsEnded", "TestGraceThenKill", "TestKill", "TestTimeoutDumpsGoroutines",
	"TestTimeoutOfProgramThatDoesNotDump", "TestSignalsArePassedOn", "TestInterruptDecidesTheStatus", "TestSecondInterruptKills",
	"TestInterruptsCutTheGraceShort", "TestProcessGroupEndsWithItsRank", "TestStrayProcessDoesNotHoldTheJob", "TestPrefix",
	"TestLinesStayWhole", "TestLongLineOfOneRankIsUntouched", "TestLongLinesAreNotMixed", "TestPartialLastLine", "TestFailingOutputEndsTheJob",
	"TestReaderGoesAway", "TestLostOutput", "TestStuckOutput", "TestSlowReader", "TestPrompt", "TestStdinGoesToRankZero", "TestUnreadStdin",
}
