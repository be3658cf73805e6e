package pgas_test

import (
	"fmt"
	"log"

	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
	"github.com/aqueduct-go/aqueduct/extended/pgas"
)

// job runs a program on three ranks that are goroutines. A program of its own has
// aqueduct.Run instead.
func job(body func(c *extended.Context, world *extended.Team) error) {
	err := core.RunGoroutines(3, core.Config{Conduit: "loopback", Threads: core.Single}, func(job *core.Job) error {
		ep, err := extended.Attach(job, core.AttachSpec{Segment: "1MB"})
		if err != nil {
			return err
		}
		return body(&ep.Context, ep.World())
	})
	if err != nil {
		log.Fatal(err)
	}
}

// Member i has i words. Each tells the root how many, and the root gathers them all.
func ExampleGatherV() {
	job(func(c *extended.Context, world *extended.Team) error {
		const root = 0
		mine := make([]float64, world.Rank())
		for i := range mine {
			mine[i] = float64(world.Rank()) + float64(i)/10
		}
		lens := make([]int, world.Size())
		if err := pgas.AllGather(c, world, lens, []int{len(mine)}); err != nil {
			return err
		}
		total, err := pgas.ReduceValue(c, world, root, len(mine), pgas.Add[int]())
		if err != nil {
			return err
		}
		all := make([]float64, total) // of no elements but at the root
		if err := pgas.GatherV(c, world, root, all, extended.Blocks{Lens: lens}, mine); err != nil {
			return err
		}
		if world.Rank() == root {
			fmt.Println(lens, all)
		}
		return nil
	})
	// Output: [0 1 2] [1 2 2.1]
}

// Each member sends member j as many copies of its rank as j has, while a sum is under way.
func ExampleAllToAllVNB() {
	job(func(c *extended.Context, world *extended.Team) error {
		n, self := world.Size(), world.Rank()
		var from, into extended.Blocks
		var src []int32
		for j := range n {
			from.Lens, into.Lens = append(from.Lens, j), append(into.Lens, self)
			for range j {
				src = append(src, int32(self))
			}
		}
		dst, sum := make([]int32, n*self), make([]int32, len(src))
		moved, err := pgas.AllToAllVNB(c, world, dst, into, src, from)
		if err != nil {
			return err
		}
		added, err := pgas.AllReduceNB(c, world, sum, src, pgas.Add[int32]())
		if err != nil {
			return err
		}
		if err := c.WaitAll([]extended.Event{moved, added}); err != nil {
			return err
		}
		if self == n-1 {
			fmt.Println(dst, sum)
		}
		return nil
	})
	// Output: [0 0 1 1 2 2] [3 3 3]
}

// The number of elements before a member's own is where it writes them.
func ExampleExScanValue() {
	job(func(c *extended.Context, world *extended.Team) error {
		heap, err := pgas.NewHeap(world)
		if err != nil {
			return err
		}
		file, err := pgas.Alloc[int32](c, heap, 6) // of which rank 0's is used
		if err != nil {
			return err
		}
		mine := make([]int32, world.Rank()+1)
		for i := range mine {
			mine[i] = int32(world.Rank())
		}
		before, err := pgas.ExScanValue(c, world, len(mine), pgas.Add[int]())
		if err != nil {
			return err
		}
		if err := file.On(0).Add(before).PutSlice(c, mine); err != nil {
			return err
		}
		if err := world.Barrier(c); err != nil {
			return err
		}
		if own, ok := file.LocalSlice(world.Endpoint(), 6); ok && world.Rank() == 0 {
			fmt.Println(own)
		}
		return world.Barrier(c)
	})
	// Output: [0 1 1 2 2 2]
}

// A lock: who takes it acquires what its last holder has released. A count of the visits needs
// no order.
func ExampleAtomic_orders() {
	job(func(c *extended.Context, world *extended.Team) error {
		heap, err := pgas.NewHeap(world)
		if err != nil {
			return err
		}
		words, err := pgas.Alloc[int64](c, heap, 3)
		if err != nil {
			return err
		}
		lock, visits, account := words.On(0), words.On(0).Add(1), words.On(0).Add(2)
		a, err := pgas.NewAtomic[int64](c, world, extended.FCAS|extended.Set|extended.Inc|extended.Get)
		if err != nil {
			return err
		}
		for {
			was, err := a.CompareSwap(c, lock, 0, 1, extended.Acquire)
			if err != nil {
				return err
			}
			if was == 0 {
				break
			}
		}
		money, err := account.Get(c)
		if err != nil {
			return err
		}
		if err := account.Put(c, money+10); err != nil { // complete on return, so released below
			return err
		}
		if err := a.Set(c, lock, 0, extended.Release); err != nil {
			return err
		}
		if err := a.Inc(c, visits, extended.Relaxed); err != nil {
			return err
		}
		if err := a.Free(c); err != nil { // a barrier
			return err
		}
		if own, ok := words.LocalSlice(world.Endpoint(), 3); ok && world.Rank() == 0 {
			fmt.Println(own[1], "visits,", own[2], "in the account")
		}
		return world.Barrier(c)
	})
	// Output: 3 visits, 30 in the account
}
