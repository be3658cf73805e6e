// What of the compiler and the platform the headers depend on. Private to the library: programs include gasnet.h or
// gasnet_tools.h.

#ifndef GASNETI_PLATFORM_H
#define GASNETI_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

#if !defined(__GNUC__)
#error "the headers of Aqueduct's C library need gcc, clang or a compiler that takes their attributes"
#endif

#define GASNETI_INLINE __inline__ __attribute__((unused))
#define GASNETI_NORETURN __attribute__((noreturn))
#define GASNETI_WARN_UNUSED __attribute__((warn_unused_result))

// A null pointer that neither C nor C++ warns of.
#if defined(__cplusplus) && __cplusplus >= 201103L
#define GASNETI_NULL nullptr
#else
#define GASNETI_NULL NULL
#endif

#define GASNETI_STRING(x) GASNETI_STRING_(x)
#define GASNETI_STRING_(x) #x
#define GASNETI_JOIN(a, b) GASNETI_JOIN_(a, b)
#define GASNETI_JOIN_(a, b) a##b

#ifdef __cplusplus
#define GASNETI_BEGIN_C extern "C" {
#define GASNETI_END_C }
#else
#define GASNETI_BEGIN_C
#define GASNETI_END_C
#endif

#endif
