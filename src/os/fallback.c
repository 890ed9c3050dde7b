/* SPDX-License-Identifier: MIT */
#include "os/fallback.h"

_Atomic uint32_t wf_fallbacks;
