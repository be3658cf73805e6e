package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
)

func TestKeys(t *testing.T) {
	seen := map[uint64]bool{0: true}
	for i := range 100000 {
		if k := key(i); seen[k] {
			t.Fatalf("key %d is %#x, which is 0 or another key", i, k)
		}
		seen[key(i)] = true
	}
}

// TestLookup checks the table itself: full parts, and wrong answers that verify finds.
func TestLookup(t *testing.T) {
	err := aqueduct.Launch(func(job *core.Job) error {
		tab, err := newTable(job, 10, 90)
		if err != nil {
			return err
		}
		room := len(tab.mine) * len(bucket{})
		for i, own := 0, 0; own <= room; i++ {
			k := key(i)
			if tab.buckets.At(tab.home(k)).Rank() != job.Rank() {
				continue
			}
			if own++; tab.store(k, valueOf(k)) != (own <= room) {
				return fmt.Errorf("key %d of a part with room for %d", own, room)
			}
			if own > room { // the table is full of others: a fruitless search ends too
				return tab.verify(i, false, false)
			}
			if err := tab.verify(i, false, true); err != nil {
				return err
			}
			for _, c := range []struct {
				err  error
				says string
			}{
				{tab.verify(i, true, true), "has value"},
				{tab.verify(i, false, false), "present is true"},
				{tab.verify(i+1e9, false, true), "present is false"},
			} {
				if c.err == nil || !strings.Contains(c.err.Error(), c.says) {
					return fmt.Errorf("a wrong answer: %v, want %q", c.err, c.says)
				}
			}
		}
		return nil
	}, aqueduct.Model("loopback", 2))
	if err != nil {
		t.Error(err)
	}
}
