package aqueduct_test

import (
	"fmt"
	"testing"

	"github.com/aqueduct-go/aqueduct"
	"github.com/aqueduct-go/aqueduct/core"
)

func TestParseLoss(t *testing.T) {
	for text, want := range map[string]core.Loss{
		"0@0s": {}, "3@1.5ms": {Rank: 3, At: 1_500_000_000}, "65535@2s": {Rank: 65535, At: 2_000_000_000_000},
	} {
		if got, err := aqueduct.ParseLoss(text); got != want || err != nil {
			t.Errorf("ParseLoss(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "3", "@1ms", "3@", "3@5", "-1@1ms", "3@-1ms", "03@1ms", "+3@1ms", "3 @1ms", "x@1ms", "99999999999@1s", "3@1ms@2ms"} {
		if got, err := aqueduct.ParseLoss(text); err == nil {
			t.Errorf("ParseLoss(%q) = %v", text, got)
		}
	}
}

func FuzzParseLoss(f *testing.F) {
	f.Add("3@1.5ms")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := aqueduct.ParseLoss(text)
		if err != nil {
			return
		}
		again, err := aqueduct.ParseLoss(fmt.Sprintf("%d@%v", l.Rank, l.At.Duration()))
		if err != nil || again != l || l.Rank < 0 || l.At < 0 {
			t.Errorf("ParseLoss(%q) = %v, and read again %v, %v", text, l, again, err)
		}
	})
}
