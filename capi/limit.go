package main

// #include "internal.h"
import "C"

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/aqueduct-go/aqueduct/core"
)

// limitVariable is the environment variable that limits segments.
const limitVariable = "GASNET_MAX_SEGSIZE"

// segmentLimit returns the bytes that this rank's segment may have at most: by the environment, or else by the program's
// own variable gasnet_max_segsize.
func segmentLimit() (uint64, error) {
	text := os.Getenv(limitVariable)
	if text == "" {
		if n := uint64(C.gasnet_max_segsize); n != 0 {
			return n, nil
		}
		return math.MaxUint64, nil
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0, err
	}
	n, err := parseLimit(text, uint64(info.Totalram)*uint64(info.Unit), len(job.Local()))
	if err != nil {
		return 0, fmt.Errorf("%s=%s: %w", limitVariable, text, err)
	}
	return n, nil
}

// checkTimes refuses what gasneti_exit_timeout would not understand.
func checkTimes() error {
	for _, part := range []string{"", "_MAX", "_MIN", "_FACTOR"} {
		name := "GASNET_EXITTIMEOUT" + part
		if text := os.Getenv(name); text != "" {
			if n, err := strconv.ParseFloat(text, 64); err != nil || !(n >= 0 && n <= C.GASNETI_LONGEST_TIME) {
				return fmt.Errorf("%s=%s: want a number of seconds, from 0 to %d", name, text, int(C.GASNETI_LONGEST_TIME))
			}
		}
	}
	return nil
}

// parseLimit reads a limit for the segment of one of so many ranks of a host with so much memory: a size such as 512MB, or a part of
// the memory such as 0.85 or 3/8; for each rank, also said by /P, or for all ranks of the host together, by /H.
func parseLimit(text string, memory uint64, ranks int) (uint64, error) {
	size, host := strings.CutSuffix(text, "/H")
	if !host {
		size = strings.TrimSuffix(text, "/P")
	}
	n, err := parseAmount(size, memory)
	if err == nil && host {
		n /= uint64(ranks)
	}
	if err == nil && n < C.GASNET_PAGESIZE {
		err = fmt.Errorf("%d bytes for each rank are less than a page", n)
	}
	return n, err
}

// parseAmount reads a size, or a part of the memory: a number of at most 1, or a quotient.
func parseAmount(text string, memory uint64) (uint64, error) {
	above, below, quotient := strings.Cut(text, "/")
	part, err := strconv.ParseFloat(above, 64)
	if err == nil && quotient {
		var d float64
		d, err = strconv.ParseFloat(below, 64)
		part /= d
	}
	if err == nil && part > 0 && part <= 1 {
		return uint64(part * float64(memory)), nil
	}
	if quotient {
		return 0, fmt.Errorf("want a size such as 512MB, or a part of the memory such as 0.85 or 3/8, with /P for each rank or /H for all of a host")
	}
	n, err := core.ParseSize(text, memory)
	return uint64(n), err
}
