/* What syscall() does for calls that read the clocks of threads. */
#ifndef WEFT_API_CLOCK_H
#define WEFT_API_CLOCK_H

#include <sys/resource.h>
#include <time.h>

/* As the system calls; return 0 or -Exxx. */
long wf_clock_get(clockid_t clock, struct timespec *ret_time);
long wf_clock_usage(int who, struct rusage *ret_usage);

#endif
