#include "textflag.h"

// func Pause()
TEXT ·Pause(SB), NOSPLIT, $0-0
	PAUSE
	RET

// func extended(leaf uint32) (ecx, edx uint32)
TEXT ·extended(SB), NOSPLIT, $0-16
	MOVL $0x80000000, AX
	XORL CX, CX
	CPUID
	XORL CX, CX
	XORL DX, DX
	CMPL AX, leaf+0(FP)
	JCS  none
	MOVL leaf+0(FP), AX
	XORL CX, CX
	CPUID
none:
	MOVL CX, ecx+8(FP)
	MOVL DX, edx+12(FP)
	RET

// func Cycles() uint64
TEXT ·Cycles(SB), NOSPLIT, $0-8
	RDTSC
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET

// func Prefetch(p unsafe.Pointer)
TEXT ·Prefetch(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), AX
	PREFETCHT0 (AX)
	RET

// func PrefetchW(p unsafe.Pointer)
TEXT ·PrefetchW(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), AX
	CMPB ·hasPrefetchW(SB), $0
	JEQ  done
	BYTE $0x0f; BYTE $0x0d; BYTE $0x08 // PREFETCHW (AX), which the assembler does not know
done:
	RET

// func Goroutine() uintptr
TEXT ·Goroutine(SB), NOSPLIT, $0-8
	MOVQ (TLS), AX
	MOVQ AX, ret+0(FP)
	RET

// func PrefetchLines(p uintptr, n int)
TEXT ·PrefetchLines(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ n+8(FP), CX
next:
	PREFETCHT0 (AX)
	ADDQ $64, AX
	DECQ CX
	JGT  next
	RET
