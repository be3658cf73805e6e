// Atomic domains, gex_AD_*, under the header's name that programs for GASNet-EX include. gasnetex.h has them too.

#ifndef GASNET_RATOMIC_H
#define GASNET_RATOMIC_H

#include "gasnetex.h"

#endif
