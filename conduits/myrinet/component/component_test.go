package component_test

import (
	"bytes"
	"testing"

	"github.com/aqueduct-go/aqueduct/conduits/myrinet/component"
	"github.com/aqueduct-go/aqueduct/internal/vtime"
)

func profile(t testing.TB) *component.Profile {
	t.Helper()
	p, err := component.Load("epos-pci64a")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// bed returns nodes of a composition.
func bed[S any](t testing.TB, p *component.Profile, traits component.Traits, n int) *component.Bed[S] {
	t.Helper()
	b, err := component.NewBed[S](p, traits, n, 1)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// text returns n bytes that tell messages apart.
func text(n, seed int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8*3 + seed*11)
	}
	return b
}

func TestFirst(t *testing.T) {
	b := bed[[0]byte](t, profile(t), component.Defaults(), 2)
	var got []byte
	b.Nodes[1].Handle(3, func(m *component.Message) { got = m.AppendTo(nil) })
	want := text(10000, 1)
	if err := b.Nodes[0].Send(1, 3, want, func(err error) { t.Log(err, b.Now()) }); err != nil {
		t.Fatal(err)
	}
	b.RunUntil(vtime.Second)
	t.Log(len(got), bytes.Equal(got, want))
	t.Logf("%+v", b.Nodes[0].Counts())
	t.Logf("%+v", b.Nodes[1].Counts())
}
func TestSecond(t *testing.T) {
	p := profile(t)
	b := bed[[component.All]byte](t, p, component.Defaults(), 3)
	for i := range 2 {
		for j := range 3 {
			b.Nodes[1+i].Handle(j, func(m *component.Message) { t.Log("node", 1+i, m.Port, m.Len(), m.Group, len(m.Parts), b.Now()) })
		}
	}
	b.Nodes[1].Post(make([]byte, 10000))
	for i, n := range []int{10, 6000, 10000} {
		if err := b.Nodes[0].Send(1, i, text(n, i), func(err error) { t.Log(err, b.Now()) }); err != nil {
			t.Fatal(err)
		}
	}
	b.Nodes[0].SendGroup(0, 1, text(5000, 3), nil)
	b.RunUntil(vtime.Second)
	t.Logf("%+v", b.Nodes[0].Counts())
	t.Logf("%+v", b.Nodes[1].Counts())
}
