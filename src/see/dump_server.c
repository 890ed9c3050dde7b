/* SPDX-License-Identifier: MIT */
/*
 * Serves the memory of this process to `weft stacks -`. The process is a raw
 * fork child of the program: it has one kernel thread, and the memory is as it
 * was at the fork. So locks of the program and of libc are held for ever, and
 * the code here calls the kernel only.
 *
 * The command reads the memory by requests, since the caller of a dump may have
 * no right to read another process: containers refuse ptrace and
 * process_vm_readv. The kernel copies the bytes from their place into the
 * socket, so an address without memory is an error and no fault.
 */
#include "see/dump.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "os/kthread.h"
#include "os/mem.h"
#include "os/sys.h"
#include "see/dump_stream.h"
#include "signal/dump_signal.h"

/*
 * The command reads all the time. If it asks for nothing for so long, its
 * output blocks, or the system is at a standstill.
 */
enum { SILENCE_MS = 60 * 1000, COMMAND_STACK = 16 << 10 };

enum { NO_COMMAND_STATUS = 127 };

static char command_stack[COMMAND_STACK] WF_ALIGNED(16);
/* For the command's side, which shares the memory until it executes. */
static struct {
	int in, out;
} command;

static WF_NORETURN void end(int status)
{
	for (;;)
		wf_sys(SYS_exit_group, status);
}

static void execute(void *arg)
{
	static const char *const argv[] = { "weft", "stacks", "-", NULL };
	static const char *const envp[] = { NULL };
	/* Copies in between: `out` may be 0, and `in` 1. */
	int out = (int)wf_sys(SYS_fcntl, command.out, F_DUPFD_CLOEXEC, 3);
	int in = (int)wf_sys(SYS_fcntl, command.in, F_DUPFD_CLOEXEC, 3);

	wf_sys(SYS_dup3, in, 0, 0);
	wf_sys(SYS_dup3, out, 1, 0);
	wf_sys(SYS_dup3, out, 2, 0);
	wf_os_set_signal_mask(0);
	wf_sys(SYS_execve, wf_dump_command, argv, envp);
	end(NO_COMMAND_STATUS);
}

/* Returns when the command has been executed, or has not. Its pid or -Exxx. */
static long start_command(int in, int out)
{
	command.in = in;
	command.out = out;
	return wf_arch_clone(CLONE_VM | CLONE_VFORK,
			     command_stack + sizeof(command_stack), 0, execute,
			     NULL, NULL);
}

static bool send_all(int to, const char *bytes, size_t nr)
{
	while (nr > 0) {
		size_t part = nr < WF_STREAM_MOST ? nr : WF_STREAM_MOST;

		if (wf_sys(SYS_sendto, to, bytes, part, MSG_NOSIGNAL, NULL,
			   0) != (long)part)
			return false;
		bytes += part;
		nr -= part;
	}
	return true;
}

static bool send_threads(int to, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		const struct wf_dump_paused *p = &wf_dump_paused[i];
		const struct wf_stream_thread t = {
			.thread_register = p->thread_register,
			.tid = (uint32_t)p->tid,
			.registers = p->registers,
		};

		if (!send_all(to, (const char *)&t, sizeof(t)))
			return false;
	}
	return true;
}

/*
 * The lines of /proc/self/maps, in memory of its own: the number of bytes comes
 * first, and a read of the file ends with a whole line.
 */
static size_t read_maps(char **ret_text)
{
	const size_t room = 64 << 20; /* touched as far as there is text */
	int fd = (int)wf_sys(SYS_openat, AT_FDCWD, "/proc/self/maps",
			     O_RDONLY | O_CLOEXEC);
	char *text = wf_os_reserve(room);
	size_t nr = 0;
	long n = fd;

	while (n >= 0 && text != NULL && nr < room) {
		n = wf_sys(SYS_read, fd, text + nr, room - nr);
		if (n <= 0)
			break;
		nr += (size_t)n;
	}
	*ret_text = text;
	return nr;
}

static bool greet(int to, uint32_t nr_paused)
{
	struct wf_stream_hello hello = {
		.magic = WF_STREAM_MAGIC,
		.form = WF_STREAM_FORM,
		.nr_threads = nr_paused,
		.thread_bytes = sizeof(struct wf_stream_thread),
	};
	char *maps;
	size_t bytes = read_maps(&maps);

	hello.maps_bytes = (uint32_t)bytes;
	return send_all(to, (const char *)&hello, sizeof(hello)) &&
	       send_threads(to, nr_paused) && send_all(to, maps, bytes);
}

/* An answer of `bytes` bytes. Returns -EFAULT if not all can be read. */
static long answer(int to, uint64_t address, uint64_t bytes)
{
	struct wf_stream_answer head = { .bytes = bytes };
	struct iovec parts[] = {
		{ &head, sizeof(head) },
		{ (void *)(uintptr_t)address, bytes },
	};
	const struct msghdr message = { .msg_iov = parts,
					.msg_iovlen = bytes > 0 ? 2 : 1 };
	long n;

	do
		n = wf_sys(SYS_sendmsg, to, &message, MSG_NOSIGNAL);
	while (n == -EINTR);
	return n;
}

/* The bytes up to the first that cannot be read: whole pages. */
static uint64_t readable(uint64_t address, uint64_t bytes)
{
	uint64_t done = 0;

	while (done < bytes) {
		uint64_t set = 0, at = address + done;
		long err;

		/* An operation that does not exist, after the set was read. */
		at = at % WF_PAGE > WF_PAGE - sizeof(set) ?
			     (at & ~(WF_PAGE - 1)) :
			     at;
		err = wf_sys(SYS_rt_sigprocmask, -1, (const void *)at, NULL,
			     sizeof(set));
		if (err == -EFAULT)
			break;
		done += WF_PAGE - (address + done) % WF_PAGE;
	}
	return done < bytes ? done : bytes;
}

static bool serve_request(int with, const struct wf_stream_request *r)
{
	long n;

	if (r->bytes == 0 || r->bytes > WF_STREAM_MOST ||
	    r->address > UINT64_MAX - r->bytes)
		return false;
	n = answer(with, r->address, r->bytes);
	if (n == -EFAULT)
		n = answer(with, r->address, readable(r->address, r->bytes));
	if (n == -EFAULT)
		n = answer(with, 0, 0);
	return n > 0;
}

/* Until the command closes its end. False: it was silent for too long. */
static bool serve(int with)
{
	struct wf_stream_request request;
	struct pollfd poll = { .fd = with, .events = POLLIN };
	long n;

	for (;;) {
		n = wf_sys(SYS_poll, &poll, 1, SILENCE_MS);
		if (n == -EINTR)
			continue;
		if (n <= 0)
			return false;
		n = wf_sys(SYS_recvfrom, with, &request, sizeof(request), 0,
			   NULL, NULL);
		if (n != sizeof(request) || !serve_request(with, &request))
			return true;
	}
}

static int wait_for(long pid)
{
	int status = 0;
	long n;

	do
		n = wf_sys(SYS_wait4, pid, &status, __WALL, NULL);
	while (n == -EINTR);
	if (n == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return n == pid && WIFEXITED(status) &&
			       WEXITSTATUS(status) == NO_COMMAND_STATUS ?
		       WF_DUMP_NO_COMMAND :
		       WF_DUMP_NO_ANSWER;
}

void wf_dump_serve(int out, unsigned int nr_paused)
{
	bool has_ended;
	int ends[2];
	long pid;

	if (wf_sys(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
		   ends) < 0)
		end(WF_DUMP_NO_SOCKET);
	pid = start_command(ends[1], out);
	if (pid < 0)
		end(WF_DUMP_NO_PROCESS);
	wf_sys(SYS_close, ends[1]);
	has_ended = !greet(ends[0], nr_paused) || serve(ends[0]);
	wf_sys(SYS_close, ends[0]);
	if (!has_ended)
		wf_sys(SYS_kill, pid, SIGKILL);
	end(has_ended ? wait_for(pid) : WF_DUMP_NO_END);
}
