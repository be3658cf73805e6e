package floor

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strconv"
)

//go:embed simgrid/simgrid.cpp
var simgridSource embed.FS

// ErrNoSimGrid says that SimGrid cannot be measured here.
var ErrNoSimGrid = errors.New("floor: no SimGrid, or no C++ compiler; apt-get install libsimgrid-dev g++")

// simgrid returns how the program is made; ErrNoSimGrid if it cannot be.
func simgrid(ctx context.Context) (program, error) {
	cxx := command("CXX", "c++", "g++", "clang++")
	if cxx == nil {
		return program{}, ErrNoSimGrid
	}
	look := append(cxx[1:len(cxx):len(cxx)], "-E", "-x", "c++", "-include", "simgrid/s4u.hpp", "/dev/null")
	if exec.CommandContext(ctx, cxx[0], look...).Run() != nil {
		return program{}, ErrNoSimGrid
	}
	return program{compiler: cxx, flags: []string{"-O2", "-std=c++17"}, suffix: ".cpp", libs: []string{"-lsimgrid"}}, nil
}

// StartSimGrid starts the program that simulates messages with SimGrid, the reference among
// simulators of distributed systems: kind "ring" or "alltoall", between so many actors. An
// operation is a message; the variants are SimGrid's network models. It fails with
// ErrNoSimGrid where that is not installed. Otherwise as Start.
func StartSimGrid(ctx context.Context, kind string, ranks int) (*Floor, error) {
	p, err := simgrid(ctx)
	if err != nil {
		return nil, err
	}
	src, err := fs.Sub(simgridSource, "simgrid")
	if err != nil {
		return nil, fmt.Errorf("floor: %w", err)
	}
	exe, err := p.build(ctx, src)
	if err != nil {
		return nil, err
	}
	return Command(ctx, "simgrid "+kind, exe, kind, strconv.Itoa(ranks))
}
