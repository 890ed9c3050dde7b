#include "os/futex.h"

#include <linux/futex.h>

#include "os/clock.h"
#include "os/sys.h"

int wf_os_futex_wait(_Atomic uint32_t *word, uint32_t expected,
		     int64_t deadline_ns)
{
	struct timespec ts;
	struct timespec *timeout = NULL;

	if (deadline_ns != WF_OS_FOREVER) {
		ts = wf_os_timespec(deadline_ns > 0 ? deadline_ns : 0);
		timeout = &ts;
	}
	return (int)wf_sys(SYS_futex, word,
			   FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected,
			   timeout, NULL, FUTEX_BITSET_MATCH_ANY);
}

int wf_os_futex_wake(_Atomic uint32_t *word, int nr)
{
	return (int)wf_sys(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG,
			   nr);
}
