package stacks

import (
	"os"
	"os/signal"
	"strings"
	"testing"
)

// A dump has the goroutines of the program, and neither the dumper's nor those of signals.
func TestAll(t *testing.T) {
	undo := OnQuit(func() {})
	defer undo()
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, os.Interrupt)
	defer signal.Stop(quit)
	hold, held := make(chan bool), make(chan bool)
	go func() {
		held <- true
		<-hold
	}()
	<-held
	defer close(hold)
	text := string(All())
	if want := "created by github.com/aqueduct-go/aqueduct/internal/stacks.TestAll"; strings.Contains(text, want) {
		t.Errorf("what this package starts is in\n%s", text)
	}
	for _, want := range []string{"stacks.TestAll(", "testing.(*T).Run"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	for _, bad := range []string{"os/signal", "OnQuit.func1"} {
		if strings.Contains(text, bad) {
			t.Errorf("%s in\n%s", bad, text)
		}
	}
}

// What a launcher's library runs in a rank is left out, what the rank runs stays.
func TestKeep(t *testing.T) {
	const rank = "goroutine 1 [syscall]:\nmain.body(0x1)\n\t/p/main.go:3 +0x1\nmain.main()\n\t/p/main.go:9 +0x2"
	for _, own := range []string{
		"goroutine 5 [IO wait]:\nx()\n\t/a.go:1\ncreated by github.com/aqueduct-go/aqueduct/spawner.Connect in goroutine 1\n\t/c.go:2 +0x1",
		"goroutine 6 [select]:\nx()\n\t/a.go:1\ncreated by github.com/aqueduct-go/aqueduct/core.Join in goroutine 1\n\t/c.go:2 +0x1",
		"goroutine 1 [select]:\ngithub.com/aqueduct-go/aqueduct/core.(*inProcess).await(0x1)\n\t/c.go:2 +0x1",
	} {
		if got, want := string(keep([]byte(own+"\n\n"+rank+"\n"))), "\n"+rank+"\n"; got != want {
			t.Errorf("kept %q, want %q", got, want)
		}
	}
}
