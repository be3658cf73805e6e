// Kinds of memory of GASNet-EX. This library has one, GEX_MK_HOST, which needs no creation: no GASNET_HAVE_MK_CLASS_ macro is
// defined, and gex_MK_Create returns GASNET_ERR_RESOURCE for every class.

#ifndef GASNET_MK_H
#define GASNET_MK_H

#include "gasnetex.h"

GASNETI_BEGIN_C

typedef enum {
	GEX_MK_CLASS_HOST,
	GEX_MK_CLASS_CUDA_UVA,
	GEX_MK_CLASS_HIP,
	GEX_MK_CLASS_ZE
} gex_MK_Class_t;

// What a kind of memory is of: the device is chosen in the member of the class.
typedef struct {
	gex_Flags_t gex_flags; // 0
	gex_MK_Class_t gex_class;
	union {
		struct {
			int gex_CUdevice;
		} gex_class_cuda_uva;
		struct {
			int gex_hipDevice;
		} gex_class_hip;
		struct {
			void *gex_zeDevice;
			void *gex_zeContext;
			uint32_t gex_zeMemoryOrdinal;
		} gex_class_ze;
	} gex_args;
} gex_MK_Create_args_t;

extern int gex_MK_Create(gex_MK_t *kind_p, gex_Client_t client, const gex_MK_Create_args_t *args, gex_Flags_t flags);
extern void gex_MK_Destroy(gex_MK_t kind, gex_Flags_t flags); // GEX_MK_HOST is never destroyed, so every call ends the job

GASNETI_END_C

#endif
