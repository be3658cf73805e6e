package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const sshdPath = "/usr/sbin/sshd"

// ServeSSH starts an sshd on each host but Front, with a banner. Commands on each host then reach these by ssh.
func (c *Cluster) ServeSSH(t testing.TB) {
	t.Helper()
	for _, tool := range []string{"ssh", "ssh-keygen", sshdPath} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs root, network namespaces and an sshd: %v; on Debian: apt-get install openssh-client openssh-server", err)
		}
	}
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(c.File("bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"key", "host-key"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", c.File(key)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
	}
	public, err := os.ReadFile(c.File("host-key.pub"))
	if err != nil {
		t.Fatal(err)
	}
	var known strings.Builder
	for _, name := range c.Names {
		fmt.Fprintf(&known, "%s %s", name, public)
	}
	c.write(t, "known", known.String(), 0o600)
	c.write(t, "banner", "*** Welcome. All connections are monitored. ***\n", 0o600)
	// With SHLVL a shell takes itself for another's child, and reads nothing of the user's that might differ from machine to machine.
	c.write(t, "sshd", fmt.Sprintf("SetEnv SHLVL=1 PATH=%s\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nUsePAM no\nStrictModes no\nBanner %s\nPermitRootLogin yes\n",
		c.path(), c.File("host-key"), c.File("key.pub"), c.File("banner")), 0o600)
	c.write(t, "ssh", fmt.Sprintf("User root\nIdentityFile %s\nIdentitiesOnly yes\nUserKnownHostsFile %s\nStrictHostKeyChecking yes\nConnectTimeout 5\n",
		c.File("key"), c.File("known")), 0o600)
	// The user's configuration: ssh looks for it where the password file says, and not where HOME does.
	c.write(t, "bin/ssh", fmt.Sprintf("#!/bin/sh\nexec %s -F %s \"$@\"\n", ssh, c.File("ssh")), 0o755)
	for _, name := range c.Names {
		c.StartSSHD(t, name)
	}
}

// StartSSHD starts the sshd of a host, as after it has come up again.
func (c *Cluster) StartSSHD(t testing.TB, name string) {
	t.Helper()
	c.Serve(t, name, "Server listening", sshdPath, "-D", "-e", "-f", c.File("sshd"))
}
