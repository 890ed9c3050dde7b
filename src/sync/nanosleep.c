#include "sync/nanosleep.h"

#include <errno.h>

#include "os/deadline.h"
#include "sync/deadline.h"
#include "wait/sleep.h"

int wf_nanosleep(const struct timespec *request, struct timespec *ret_left)
{
	int64_t deadline_ns, left_ns;
	int rc = wf_deadline_from_rel(request, &deadline_ns);

	if (rc != 0)
		return rc;
	if (request->tv_sec == 0 && request->tv_nsec == 0)
		return 0;
	rc = wf_sleep_until(deadline_ns);
	if (rc != -EINTR || ret_left == NULL)
		return rc;
	left_ns = deadline_ns - wf_os_now();
	*ret_left = wf_os_timespec(left_ns > 0 ? left_ns : 0);
	return rc;
}

int wf_nanosleep_until(clockid_t clock, const struct timespec *ts)
{
	int64_t deadline_ns;
	int rc;

	if (!wf_deadline_is_valid(clock, ts) || ts->tv_sec < 0)
		return -EINVAL;
	rc = wf_deadline_from_abs(clock, ts, &deadline_ns);
	if (rc != 0 || wf_deadline_is_over(deadline_ns))
		return rc;
	return wf_sleep_until(deadline_ns);
}
