// Names beyond the specification that programs written for GASNet lean on: what the compiler, the processor and the system
// are, hints for the compiler, and two macros. Private to the library: programs include gasnet.h or gasnet_tools.h.

#ifndef GASNETI_NAMES_H
#define GASNETI_NAMES_H

#include "platform.h"

// Programs ask by #if, so what does not apply is 0.
#if defined(__clang__)
#define PLATFORM_COMPILER_CLANG 1
#define PLATFORM_COMPILER_GNU 0
#define PLATFORM_COMPILER_FAMILYNAME CLANG
#define PLATFORM_COMPILER_VERSION GASNETI_COMPILER_VERSION(__clang_major__, __clang_minor__, __clang_patchlevel__)
#else
#define PLATFORM_COMPILER_CLANG 0
#define PLATFORM_COMPILER_GNU 1
#define PLATFORM_COMPILER_FAMILYNAME GNU
#define PLATFORM_COMPILER_VERSION GASNETI_COMPILER_VERSION(__GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__)
#endif
#define GASNETI_COMPILER_VERSION(major, minor, patch) (((major) << 16) | ((minor) << 8) | (patch))
#define PLATFORM_COMPILER_VERSION_STR __VERSION__
#define PLATFORM_COMPILER_IDSTR "|COMPILER_FAMILY:" GASNETI_STRING(PLATFORM_COMPILER_FAMILYNAME) "|COMPILER_VERSION:" __VERSION__ "|"
#define PLATFORM_COMPILER_VERSION_GE(major, minor, patch) (PLATFORM_COMPILER_VERSION >= GASNETI_COMPILER_VERSION(major, minor, patch))
#define PLATFORM_COMPILER_VERSION_GT(major, minor, patch) (PLATFORM_COMPILER_VERSION > GASNETI_COMPILER_VERSION(major, minor, patch))
#define PLATFORM_COMPILER_VERSION_LE(major, minor, patch) (PLATFORM_COMPILER_VERSION <= GASNETI_COMPILER_VERSION(major, minor, patch))
#define PLATFORM_COMPILER_VERSION_LT(major, minor, patch) (PLATFORM_COMPILER_VERSION < GASNETI_COMPILER_VERSION(major, minor, patch))
#define PLATFORM_COMPILER_CRAY 0
#define PLATFORM_COMPILER_INTEL 0
#define PLATFORM_COMPILER_NVHPC 0
#define PLATFORM_COMPILER_OPEN64 0
#define PLATFORM_COMPILER_PATHSCALE 0
#define PLATFORM_COMPILER_PGI 0
#define PLATFORM_COMPILER_SUN 0
#define PLATFORM_COMPILER_TINY 0
#define PLATFORM_COMPILER_XLC 0

#if defined(__cplusplus)
#define PLATFORM_COMPILER_CXX_LANGLVL __cplusplus
#elif defined(__STDC_VERSION__)
#define PLATFORM_COMPILER_C_LANGLVL __STDC_VERSION__
#endif

#define PLATFORM_OS_LINUX 1
#define PLATFORM_OS_FAMILYNAME LINUX
#define PLATFORM_OS_AIX 0
#define PLATFORM_OS_CNL 0
#define PLATFORM_OS_CYGWIN 0
#define PLATFORM_OS_DARWIN 0
#define PLATFORM_OS_FREEBSD 0
#define PLATFORM_OS_MSWINDOWS 0
#define PLATFORM_OS_NETBSD 0
#define PLATFORM_OS_OPENBSD 0
#define PLATFORM_OS_SOLARIS 0

#if defined(__x86_64__)
#define PLATFORM_ARCH_X86_64 1
#define PLATFORM_ARCH_AARCH64 0
#define PLATFORM_ARCH_FAMILYNAME X86_64
#elif defined(__aarch64__)
#define PLATFORM_ARCH_X86_64 0
#define PLATFORM_ARCH_AARCH64 1
#define PLATFORM_ARCH_FAMILYNAME AARCH64
#else
#error "Aqueduct's C library is for amd64 and arm64"
#endif
#define PLATFORM_ARCH_64 1
#define PLATFORM_ARCH_32 0
#define PLATFORM_ARCH_LITTLE_ENDIAN 1
#define PLATFORM_ARCH_BIG_ENDIAN 0
#define PLATFORM_ARCH_ARM 0
#define PLATFORM_ARCH_IA64 0
#define PLATFORM_ARCH_MIPS 0
#define PLATFORM_ARCH_POWERPC 0
#define PLATFORM_ARCH_SPARC 0
#define PLATFORM_ARCH_X86 0

#ifndef HAVE_MMAP
#define HAVE_MMAP 1
#endif
#ifndef HAVE_PTHREAD_H
#define HAVE_PTHREAD_H 1
#endif
#ifndef PRIuSZ
#define PRIuSZ "zu"
#endif
#ifndef _STRINGIFY
#define _STRINGIFY(x) GASNETI_STRING(x)
#endif
#ifndef _CONCAT
#define _CONCAT(a, b) GASNETI_JOIN(a, b)
#endif

// Conditions that are seldom true, and nearly always.
#ifndef if_pf
#define if_pf(cond) if (GASNETT_PREDICT_FALSE(cond))
#endif
#ifndef if_pt
#define if_pt(cond) if (GASNETT_PREDICT_TRUE(cond))
#endif
#define GASNETT_PREDICT_TRUE(cond) __builtin_expect(!!(cond), 1)
#define GASNETT_PREDICT_FALSE(cond) __builtin_expect(!!(cond), 0)

// Whether segments of ranks of a host are shared memory.
#define GASNETI_PSHM_ENABLED 1

#endif
