/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#define CALL(name)                \
	{                         \
		SYS_##name, #name \
	}

/* The calls in which threads are found; others are printed by number. */
static const struct {
	long nr;
	const char *name;
} calls[] = { CALL(read),
	      CALL(write),
	      CALL(pread64),
	      CALL(pwrite64),
	      CALL(readv),
	      CALL(writev),
	      CALL(preadv),
	      CALL(pwritev),
	      CALL(preadv2),
	      CALL(openat),
	      CALL(close),
	      CALL(fsync),
	      CALL(fdatasync),
	      CALL(sync),
	      CALL(syncfs),
	      CALL(sync_file_range),
	      CALL(flock),
	      CALL(fcntl),
	      CALL(ioctl),
	      CALL(fallocate),
	      CALL(ftruncate),
	      CALL(sendfile),
	      CALL(tee),
	      CALL(copy_file_range),
	      CALL(statx),
	      CALL(newfstatat),
	      CALL(getdents64),
	      CALL(unlinkat),
	      CALL(renameat2),
	      CALL(mkdirat),
	      CALL(connect),
	      CALL(accept),
	      CALL(recvfrom),
	      CALL(recvmsg),
	      CALL(recvmmsg),
	      CALL(sendto),
	      CALL(sendmsg),
	      CALL(sendmmsg),
	      CALL(poll),
	      CALL(ppoll),
	      CALL(select),
	      CALL(epoll_wait),
	      CALL(epoll_pwait),
	      CALL(epoll_pwait2),
	      CALL(io_uring_enter),
	      CALL(futex),
	      CALL(nanosleep),
	      CALL(clock_nanosleep),
	      CALL(rt_sigsuspend),
	      CALL(rt_sigtimedwait),
	      CALL(wait4),
	      CALL(waitid),
	      CALL(semop),
	      CALL(semtimedop),
	      CALL(msgrcv),
	      CALL(mq_timedsend),
	      CALL(mq_timedreceive),
	      CALL(execve),
	      CALL(sched_yield),
	      CALL(mmap),
	      CALL(munmap),
	      CALL(mprotect),
	      CALL(msync) };

const char *wf_see_call_name(long nr)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].nr == nr)
			return calls[i].name;
	return NULL;
}

/* A text that is written piece by piece. */
struct text {
	char *to;
	size_t room, len;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t,
						      const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->to + t->len, t->room - t->len, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->len += (size_t)n < t->room - t->len ? (size_t)n :
							 t->room - t->len - 1;
}

static void add_thread(struct text *text, const struct wf_see_table *table,
		       const struct wf_see_thread *t)
{
	const struct wf_see_thread *owner =
		t->owner < table->nr ? &table->threads[t->owner] : NULL;

	add(text, "%d", t->owner_tid);
	if (owner != NULL && owner->name[0] != '\0')
		add(text, " (%s)", owner->name);
}

static void add_call(struct text *text, long nr)
{
	const char *name = wf_see_call_name(nr);

	if (name != NULL)
		add(text, "%s", name);
	else
		add(text, "system call %ld", nr);
}

static void add_signals(struct text *text, uint64_t set)
{
	if (__builtin_popcountll(set) > 16) {
		add(text, "any of %d signals", __builtin_popcountll(set));
		return;
	}
	add(text, "signal");
	for (int sig = 1; sig <= 64; sig++)
		if ((set >> (sig - 1) & 1) != 0)
			add(text, " %d", sig);
}

static void add_request(struct text *text, const struct wf_see_thread *t)
{
	if (t->operation_call >= 0)
		add_call(text, t->operation_call);
	else
		add(text, "%s", t->operation != NULL ? t->operation : "io");
	if (t->fd >= 0)
		add(text, " of descriptor %d", t->fd);
	if (t->count > 1)
		add(text, " and %u more", t->count - 1);
	if (t->backend != NULL)
		add(text, " by %s", t->backend);
}

static void add_wait(struct text *text, const struct wf_see_table *table,
		     const struct wf_see_thread *t)
{
	if (t->operation != NULL || strcmp(t->wait_kind, "io") == 0) {
		add_request(text, t);
	} else if (strcmp(t->wait_kind, "join") == 0) {
		add(text, "exit of ");
		add_thread(text, table, t);
	} else if (strcmp(t->wait_kind, "sleep") == 0) {
		add(text, "sleep");
	} else if (strcmp(t->wait_kind, "signal") == 0) {
		add_signals(text, t->signals);
	} else {
		const char *kind = t->was_moved ? "mutex" : t->wait_kind;

		add(text, "%s 0x%llx", kind, (unsigned long long)t->object);
		if (t->owner_tid > 0) {
			add(text, " held by ");
			add_thread(text, table, t);
		} else if (t->mutex != 0) {
			add(text, " with mutex 0x%llx",
			    (unsigned long long)t->mutex);
		} else if (t->count != 0) {
			add(text, ": %u of %u are there", t->arrived, t->count);
		}
		if (t->was_moved)
			add(text, " after a condition");
	}
	if (t->until_ns != 0 && table->now_ns != 0) {
		char left[32];

		wf_see_duration(t->until_ns - table->now_ns, left,
				sizeof(left));
		add(text, ", for %s more", left);
	}
}

static void add_carrier(struct text *text, const struct wf_see_thread *t)
{
	if (t->vp >= 0)
		add(text, "vp %d, ", t->vp);
	add(text, "kernel thread %d", t->carrier_tid);
}

void wf_see_describe(const struct wf_see *see, const struct wf_see_table *table,
		     const struct wf_see_thread *t, char *ret_text, size_t room)
{
	struct text text = { ret_text, room, 0 };

	ret_text[0] = '\0';
	if (t->wait_kind != NULL) {
		add_wait(&text, table, t);
	} else if (t->state == WF_SEE_SYSTEM_CALL && t->system_call >= 0) {
		add_call(&text, t->system_call);
		add(&text, ", ");
		add_carrier(&text, t);
	} else if (t->carrier_tid != 0) {
		add_carrier(&text, t);
	} else if (t->queue != NULL) {
		add(&text, "%s queue", t->queue);
		if (t->queue_vp >= 0)
			add(&text, " of vp %d", t->queue_vp);
	}
	if (t->is_bound && t->bound_why != NULL)
		add(&text, "%sbound: %s", text.len != 0 ? "; " : "",
		    t->bound_why);
}

void wf_see_place(const struct wf_see *see, uint64_t address, char *ret_text,
		  size_t room)
{
	const struct wf_see_map *map = wf_see_map_at(see, address);
	const char *slash;

	if (address == 0) {
		snprintf(ret_text, room, "-");
		return;
	}
	if (map == NULL) {
		snprintf(ret_text, room, "0x%llx", (unsigned long long)address);
		return;
	}
	slash = strrchr(map->name, '/');
	snprintf(ret_text, room, "%s+0x%llx",
		 slash != NULL ? slash + 1 : map->name,
		 (unsigned long long)(address - map->start + map->offset));
}

void wf_see_duration(int64_t ns, char *ret_text, size_t room)
{
	double s = (double)ns / 1e9;

	if (ns <= 0)
		snprintf(ret_text, room, "0 s");
	else if (s < 100)
		snprintf(ret_text, room, "%.2f s", s);
	else if (s < 7200)
		snprintf(ret_text, room, "%.1f min", s / 60);
	else if (s < 48 * 3600)
		snprintf(ret_text, room, "%.1f h", s / 3600);
	else
		snprintf(ret_text, room, "%.1f days", s / 86400);
}
