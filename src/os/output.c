#include "os/output.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/log.h"
#include "os/kthread.h"
#include "os/sys.h"

enum { STDERR = 2 };

static struct file {
	uint64_t device, inode;
} log_file;
static enum { NOT_ASKED, OPEN, CLOSED } log_state;

static bool ask(struct file *ret_file)
{
	struct stat st;
	long err = wf_sys(SYS_fstat, STDERR, &st);

	if (err == 0)
		*ret_file = (struct file){ st.st_dev, st.st_ino };
	return err == 0;
}

void wf_os_stderr_init(void)
{
	log_state = ask(&log_file) ? OPEN : CLOSED;
}

bool wf_os_stderr_is_there(void)
{
	struct file now;

	if (log_state != OPEN)
		return log_state == NOT_ASKED;
	return ask(&now) && now.device == log_file.device &&
	       now.inode == log_file.inode;
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
	uint64_t mask = wf_os_close_signals();

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

void wf_log_sink(const char *line, size_t len)
{
	if (wf_os_stderr_is_there())
		wf_os_write_quietly(STDERR, line, len);
}
