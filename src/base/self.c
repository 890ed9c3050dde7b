/* SPDX-License-Identifier: MIT */
#include "base/self.h"

__thread struct wf_thread *wf_self;
