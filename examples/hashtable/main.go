// Hashtable keeps a hash table in the segments of all ranks. To insert, a rank sends the
// owner of the key an active message, whose handler alone changes that part of the table;
// to look up, it gets the bucket and needs nothing of the owner. Every rank inserts keys,
// looks up those of another rank, and keys that nobody inserted.
//
//	aqrun -n 4 hashtable --keys 100000
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

func main() {
	flags := pflag.NewFlagSet("hashtable", pflag.ContinueOnError)
	flags.Usage = func() {} // one rank prints it
	keys := flags.Int("keys", 10000, "keys that each rank inserts")
	load := flags.Int("load", 50, "how full the table becomes, in percent")
	err := flags.Parse(os.Args[1:])
	if err == nil && (*keys < 1 || *keys > 1<<30 || *load < 1 || *load > 95 || flags.NArg() > 0) {
		err = errors.New("want --keys from 1 to 2^30, --load from 1 to 95 and no arguments")
	}
	aqueduct.Run(func(job *core.Job) error {
		switch {
		case errors.Is(err, pflag.ErrHelp):
			if job.Rank() == 0 {
				fmt.Print("usage: hashtable [options]\n" + flags.FlagUsages())
			}
			return nil
		case err != nil:
			return &core.ExitError{Status: 2, Reason: fmt.Sprintf("hashtable: %v; see --help", err)}
		}
		return run(job, *keys, *load)
	})
}

func run(job *core.Job, keys, load int) error {
	t, err := newTable(job, keys, load)
	if err != nil {
		return err
	}
	me, n := int(job.Rank()), job.Size()
	start := job.Now()
	for i := range keys {
		k := key(me*keys + i)
		if err := t.insert(k, valueOf(k)); err != nil {
			return err
		}
		if i%10 == 0 { // the later insert wins; messages may overtake each other, so it waits
			if err := t.answered(); err != nil {
				return err
			}
			if err := t.insert(k, ^valueOf(k)); err != nil {
				return err
			}
		}
	}
	if err := t.settle(); err != nil {
		return err
	}
	inserted := job.Now()
	for i := range keys {
		if err := t.verify((me+1)%n*keys+i, i%10 == 0, true); err != nil {
			return err
		}
		if err := t.verify((n+me)*keys+i, false, false); err != nil {
			return err
		}
	}
	looked := job.Now()
	stored, err := pgas.AllReduceValue(&t.ep.Context, t.ep.World(), int64(t.stored), pgas.Add[int64]())
	if err != nil {
		return err
	}
	if stored != int64(n*keys) {
		return fmt.Errorf("hashtable: the table holds %d keys, want %d", stored, n*keys)
	}
	if me == 0 {
		_, err = fmt.Printf("%d keys on %d ranks: inserted in %v, looked up in %v; every answer is right\n", stored, n, inserted-start, looked-inserted)
	}
	return err
}

// verify looks up key number i.
func (t *table) verify(i int, replaced, present bool) error {
	k := key(i)
	want := valueOf(k)
	if replaced {
		want = ^want
	}
	v, ok, err := t.lookup(k)
	switch {
	case err != nil:
		return err
	case ok != present:
		return fmt.Errorf("hashtable: key %d (%#x): present is %v, want %v", i, k, ok, present)
	case ok && v != want:
		return fmt.Errorf("hashtable: key %d (%#x) has value %#x, want %#x", i, k, v, want)
	}
	return nil
}
