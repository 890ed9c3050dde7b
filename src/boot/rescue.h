/* VPs whose carrier the kernel has put to sleep get another carrier. */
#ifndef WEFT_BOOT_RESCUE_H
#define WEFT_BOOT_RESCUE_H

#include <stdbool.h>
#include <stdint.h>

/* On the monitor's kernel thread, first of all. */
void wf_rescue_init(void);

/* Looks at all VPs. True if one was rescued: look again soon. */
bool wf_rescue_all(int64_t now_ns);

#endif
