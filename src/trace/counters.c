#include "trace/counters.h"

struct wf_counters wf_counters;
