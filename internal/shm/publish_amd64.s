//go:build !race

#include "textflag.h"

// func Store64(p *uint64, v uint64)
TEXT ·Store64(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ v+8(FP), CX
	MOVQ CX, (AX)
	RET

// func Store32(p *uint32, v uint32)
TEXT ·Store32(SB), NOSPLIT, $0-12
	MOVQ p+0(FP), AX
	MOVL v+8(FP), CX
	MOVL CX, (AX)
	RET

// func Store8(p *uint8, v uint8)
TEXT ·Store8(SB), NOSPLIT, $0-9
	MOVQ p+0(FP), AX
	MOVB v+8(FP), CX
	MOVB CX, (AX)
	RET

// func Swap8(p *uint8, v uint8) uint8
TEXT ·Swap8(SB), NOSPLIT, $0-17
	MOVQ p+0(FP), AX
	MOVB v+8(FP), CX
	XCHGB CX, (AX)
	MOVB CX, ret+16(FP)
	RET

// func Fence()
TEXT ·Fence(SB), NOSPLIT, $8-0
	// A locked read-modify-write of our own stack is a full barrier and is faster than
	// MFENCE (Intel and AMD optimisation manuals).
	LOCK
	ADDL $0, 0(SP)
	RET
