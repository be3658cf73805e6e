package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/aqueduct-go/aqueduct/conduits/udp/impair/tunnel"
)

// enter moves this process into a node and has it become the program there. It returns only
// if that fails.
func enter(args []string) error {
	if len(args) < 2 {
		return failure{statusUsage, errors.New("enter: want a node and a program, as in: aqimpair enter 0 PROGRAM")}
	}
	node, path, err := lookUp(args[0], os.Getenv(envNamespaces))
	if err != nil {
		return failure{statusUsage, err}
	}
	program, err := find(args[1])
	if err != nil {
		return err
	}
	if err := tunnel.Enter(path); err != nil {
		return failure{statusSelf, err}
	}
	if err := os.Setenv(envAddress, tunnel.Address(node).String()); err != nil {
		return failure{statusSelf, err}
	}
	err = syscall.Exec(program, args[1:], os.Environ())
	return failure{statusExec, fmt.Errorf("program %s cannot be executed: %w", args[1], err)}
}

// lookUp returns the node that a text names, and the path of its namespace among all.
func lookUp(name, namespaces string) (node int, path string, err error) {
	if namespaces == "" {
		return 0, "", fmt.Errorf("enter: %s is not set; start this, or aqrun, by aqimpair -n NODES COMMAND", envNamespaces)
	}
	paths := strings.Split(namespaces, ",")
	node, err = strconv.Atoi(name)
	if err != nil || node < 0 || node >= len(paths) {
		return 0, "", fmt.Errorf("enter: node %q: there are 0 to %d; aqimpair -n makes more", name, len(paths)-1)
	}
	return node, paths[node], nil
}
