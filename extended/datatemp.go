package extended

import "encoding/binary"

type Type uint8
type Op uint32

const (
	Uint64 Type = iota
)
const (
	Add Op = iota
	Min
)

func (Type) Size() int { return 8 }

func combiner(t Type, op Op) (func(dst, src []byte), error) {
	return func(dst, src []byte) {
		for i := 0; i < len(dst); i += 8 {
			a, b := binary.NativeEndian.Uint64(dst[i:]), binary.NativeEndian.Uint64(src[i:])
			if op == Add {
				a += b
			} else {
				a = min(a, b)
			}
			binary.NativeEndian.PutUint64(dst[i:], a)
		}
	}, nil
}

func (t Type) String() string { return "Uint64" }
func (o Op) String() string   { return [...]string{"Add", "Min"}[o] }
