package extended_test

import (
	"fmt"
	"log"

	_ "github.com/aqueduct-go/aqueduct/conduits/loopback"
	"github.com/aqueduct-go/aqueduct/core"
	"github.com/aqueduct-go/aqueduct/extended"
)

// job runs a program on three ranks that are goroutines. A program of its own has aqueduct.Run instead.
func job(body func(ep *extended.Endpoint) error) {
	err := core.RunGoroutines(3, core.Config{Conduit: "loopback"}, func(job *core.Job) error {
		ep, err := extended.Attach(job, core.AttachSpec{Segment: "1MB"})
		if err != nil {
			return err
		}
		return body(ep)
	})
	if err != nil {
		log.Fatal(err)
	}
}

// Every rank writes to its right neighbour, and reads what has come.
func ExampleContext_PutValue() {
	job(func(ep *extended.Endpoint) error {
		right := (ep.Rank() + 1) % core.Rank(ep.Size())
		if err := ep.PutValue(right, 0, uint64(ep.Rank())*10, 8); err != nil {
			return err
		}
		if err := ep.Barrier(); err != nil { // now all numbers have come
			return err
		}
		got, err := ep.GetValue(ep.Rank(), 0, 8)
		if err == nil && ep.Rank() == 0 {
			fmt.Println("rank 0 got", got)
		}
		return err
	})
	// Output: rank 0 got 20
}

// Two gets are under way at once.
func ExampleContext_GetNB() {
	job(func(ep *extended.Endpoint) error {
		copy(ep.Segment(), fmt.Sprintf("rank %d", ep.Rank()))
		if err := ep.Barrier(); err != nil || ep.Rank() != 0 {
			return err
		}
		var bufs [2][6]byte
		var evs [2]extended.Event
		for i := range bufs {
			var err error
			if evs[i], err = ep.GetNB(bufs[i][:], core.Rank(i+1), 0); err != nil {
				return err
			}
		}
		if err := ep.WaitAll(evs[:]); err != nil {
			return err
		}
		fmt.Printf("%s, %s\n", bufs[0][:], bufs[1][:])
		return nil
	})
	// Output: rank 1, rank 2
}

// Tickets: each rank gets a number of its own.
func ExampleAtomic_FetchAdd() {
	job(func(ep *extended.Endpoint) error {
		c, world := &ep.Context, ep.World()
		tickets, err := extended.NewAtomic[uint64](c, world, extended.FAdd|extended.Get)
		if err != nil {
			return err
		}
		if _, err := tickets.FetchAdd(c, 0, 64, 1); err != nil {
			return err
		}
		if err := world.Barrier(c); err != nil || world.Rank() != 0 {
			return err
		}
		n, err := tickets.Get(c, 0, 64)
		fmt.Println(n, "tickets were given out")
		return err
	})
	// Output: 3 tickets were given out
}

// A column of a matrix with rows of four bytes, from another rank.
func ExampleContext_GetStrided() {
	job(func(ep *extended.Endpoint) error {
		copy(ep.Segment(), "abcdefghijkl")
		if err := ep.Barrier(); err != nil || ep.Rank() != 0 {
			return err
		}
		column := make([]byte, 3)
		err := ep.GetStrided(column, extended.Section{Strides: []int{1}}, 1, extended.Section{Off: 1, Strides: []int{4}}, 1, []int{3})
		fmt.Printf("%s\n", column)
		return err
	})
	// Output: bfj
}

// Teams of the even and of the odd ranks.
func ExampleTeam_Split() {
	job(func(ep *extended.Endpoint) error {
		c, world := &ep.Context, ep.World()
		team, err := world.Split(c, world.Rank()%2, 0)
		if err == nil && world.Rank() == 2 {
			fmt.Printf("rank 2 is member %d of %v\n", team.Rank(), team.Members())
		}
		return err
	})
	// Output: rank 2 is member 1 of [0 2]
}
