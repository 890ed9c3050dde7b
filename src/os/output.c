#include "os/output.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

#include "os/kthread.h"
#include "os/sys.h"

int wf_os_file_of(int fd, struct wf_os_file *ret_file)
{
	struct stat st;
	long err = wf_sys(SYS_fstat, fd, &st);

	if (err < 0)
		return (int)err;
	*ret_file = (struct wf_os_file){ st.st_dev, st.st_ino };
	return 0;
}

/* write(2) has queued it to this kernel thread, which has it blocked. */
static void take_broken_pipe(void)
{
	const uint64_t set = 1ULL << (SIGPIPE - 1);
	const struct timespec at_once = { 0, 0 };

	wf_sys(SYS_rt_sigtimedwait, &set, NULL, &at_once, 8);
}

void wf_os_write_quietly(int fd, const char *bytes, size_t nr)
{
	uint64_t mask = wf_os_get_signal_mask();

	wf_os_set_signal_mask(UINT64_MAX);
	while (nr > 0) {
		long n = wf_sys(SYS_write, fd, bytes, nr);

		if (n == -EPIPE)
			take_broken_pipe();
		if (n == -EINTR)
			continue;
		if (n <= 0)
			break;
		bytes += n;
		nr -= (size_t)n;
	}
	wf_os_set_signal_mask(mask);
}
