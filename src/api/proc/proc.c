/* SPDX-License-Identifier: MIT */
/*
 * The program's view of /proc. A path with a thread's id is translated to the
 * directory of a kernel thread: the thread's carrier, or any carrier while the
 * thread waits. weft itself makes the contents of "comm", the thread's name. It
 * also makes the process's "stat" and "status", with the program's number of
 * threads, but only for a stream, which is read once. From a descriptor
 * a program may read them again and again, and needs the kernel's file.
 */
/* Otherwise libc's headers rename each function to its 64-bit variant. */
#undef _FILE_OFFSET_BITS
#include "api/proc/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/memfd.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "base/log.h"
#include "boot/wind_down.h"
#include "libc/real.h"
#include "os/sys.h"
#include "sched/runtime.h"
#include "sched/table.h"
#include "signal/memory.h"
#include "thread/thread_count.h"
#include "thread/kernel_state.h"
#include "thread/name.h"

enum { PROC_BYTES = sizeof("/proc/") - 1, MAX_DIGITS = 10, FILE_BYTES = 4096 };

/* --- parts of paths ------------------------------------------------------- */

/* A path in the directory of a thread. */
struct place {
	struct wf_thread *thread;
	bool is_task;	  /* /proc/PID/task/TID, not /proc/TID */
	const char *tail; /* the rest of the path, behind the id */
};

/*
 * Reads a number that is a whole component of a path. Returns its end, or NULL
 * if there is no such number at p.
 */
static const char *find_number(const char *p, int32_t *ret)
{
	const char *begin = p;
	int64_t n = 0;

	for (; *p >= '0' && *p <= '9' && p - begin < MAX_DIGITS; p++)
		n = n * 10 + (*p - '0');
	if (p == begin || n > INT32_MAX || (*p != '/' && *p != '\0'))
		return NULL;
	*ret = (int32_t)n;
	return p;
}

/* The thread of weft with this id. NULL also for ids of kernel threads. */
static struct wf_thread *thread_of(int32_t id)
{
	struct wf_thread *t = NULL;

	if (id >= 1 << WF_TID_INDEX_BITS)
		t = wf_table_by_tid(id);
	return wf_thread_exists(t) && t->kind != WF_THREAD_FOREIGN ? t : NULL;
}

/* The rest of path behind `component`, or NULL if path begins otherwise. */
static const char *skip(const char *path, const char *component)
{
	size_t len = strlen(component);

	return strncmp(path, component, len) == 0 ? path + len : NULL;
}

static bool is_in_task(const char *p, struct place *ret)
{
	int32_t id;

	p = skip(p, "/task/");
	if (p != NULL)
		p = find_number(p, &id);
	if (p == NULL)
		return false;
	ret->thread = thread_of(id);
	ret->is_task = true;
	ret->tail = p;
	return ret->thread != NULL;
}

bool wf_proc_is_below(const char *path)
{
	return wf_is_started() && wf_memory_is_string(path, PROC_BYTES) &&
	       strncmp(path, "/proc/", PROC_BYTES) == 0 &&
	       wf_memory_is_string(path, PATH_MAX);
}

const char *wf_proc_skip_own(const char *path)
{
	const char *p = path + PROC_BYTES, *tail = skip(p, "self");
	int32_t id;

	if (tail != NULL)
		return *tail == '/' || *tail == '\0' ? tail : NULL;
	tail = find_number(p, &id);
	return tail != NULL && id == wf_os_getpid() ? tail : NULL;
}

/*
 * Is it a file that only the thread of the directory may write? Among them are
 * the attributes of security modules.
 */
static bool is_written_by_owner(const char *tail)
{
	return strncmp(tail, "/attr/", 6) == 0 ||
	       strcmp(tail, "/loginuid") == 0 ||
	       strcmp(tail, "/fail-nth") == 0 ||
	       strcmp(tail, "/make-it-fail") == 0;
}

/*
 * Is `own`, in the process's directory, such a file? It is the first thread's.
 */
static bool is_of_first(const char *own, struct place *ret)
{
	if (!wf_thread_self()->is_first || !is_written_by_owner(own))
		return false;
	*ret = (struct place){ wf_thread_self(), true, own };
	return true;
}

static bool is_place(const char *path, struct place *ret)
{
	const char *own = wf_proc_skip_own(path), *tail;
	int32_t id;

	if (own != NULL)
		return is_in_task(own, ret) || is_of_first(own, ret);
	tail = find_number(path + PROC_BYTES, &id);
	if (tail == NULL)
		return false;
	*ret = (struct place){ thread_of(id), false, tail };
	if (ret->thread == NULL)
		return false;
	return strncmp(tail, "/task/", 6) != 0 || is_in_task(tail, ret);
}

/* Is path below /proc/thread-self? */
static bool is_own_place(const char *path, struct place *ret)
{
	const char *tail = skip(path + PROC_BYTES, "thread-self");

	if (tail == NULL)
		return false;
	*ret = (struct place){ wf_thread_self(), true, tail };
	return true;
}

static int kernel_tid(const struct wf_thread *t)
{
	return t == wf_self ? wf_os_gettid() : wf_kernel_state_tid_of(t);
}

const char *wf_proc_path_slow(const char *path, struct wf_proc_path *buf)
{
	int saved_errno = errno;
	struct place place;

	if (!is_place(path, &place) ||
	    strnlen(place.tail, sizeof(buf->text)) > sizeof(buf->text) / 2)
		return path;
	wf_format(buf->text, sizeof(buf->text), "/proc/%s%d%s",
		  place.is_task ? "self/task/" : "", kernel_tid(place.thread),
		  place.tail);
	errno = saved_errno;
	return buf->text;
}

/* --- files with contents of weft ------------------------------------------ */

static int file_of(const char *const *texts, size_t nr, int flags)
{
	int fd = (int)wf_sys(SYS_memfd_create, "proc",
			     (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0);
	bool is_whole = fd >= 0;

	for (size_t i = 0; is_whole && i < nr; i++) {
		long bytes = (long)strlen(texts[i]);

		is_whole = wf_sys(SYS_write, fd, texts[i], bytes) == bytes;
	}
	if (is_whole && wf_sys(SYS_lseek, fd, 0, SEEK_SET) == 0)
		return fd;
	if (fd >= 0)
		wf_sys(SYS_close, fd);
	return -ENOENT;
}

static int open_comm(const struct wf_thread *t, int flags)
{
	char name[sizeof(t->name)] = "";
	const char *const texts[] = { name, "\n" };

	memcpy(name, t->name, strnlen(t->name, sizeof(name) - 1));
	return file_of(texts, 2, flags);
}

/* The number of threads in the text of "stat" or "status", or NULL. */
static char *find_count(char *text, const char *name)
{
	enum { FIELDS_BEFORE = 18 }; /* between the name and the number */
	char *p;

	if (strcmp(name, "/status") == 0) {
		p = strstr(text, "\nThreads:\t");
		return p != NULL ? p + sizeof("\nThreads:\t") - 1 : NULL;
	}
	p = strrchr(text, ')');
	for (int i = 0; p != NULL && i < FIELDS_BEFORE; i++) {
		p = strchr(p, ' ');
		if (p != NULL)
			p++;
	}
	return p;
}

static int open_counted(const char *path, const char *name, int flags)
{
	char text[FILE_BYTES], number[MAX_DIGITS + 1];
	int fd = (int)wf_sys(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	long bytes = fd < 0 ? fd : wf_sys(SYS_read, fd, text, sizeof(text) - 1);
	const char *texts[] = { text, number, NULL };
	char *count;

	if (fd >= 0)
		wf_sys(SYS_close, fd);
	if (bytes <= 0 || bytes == sizeof(text) - 1)
		return -ENOENT;
	text[bytes] = '\0';
	count = find_count(text, name);
	if (count == NULL)
		return -ENOENT;
	*count++ = '\0';
	while (*count >= '0' && *count <= '9')
		count++;
	texts[2] = count;
	wf_format(number, sizeof(number), "%u", wf_thread_count_nr());
	return file_of(texts, 3, flags);
}

/* The caller is about to write its kernel thread's attributes: binds it. */
static void bind_writer(const char *path)
{
	struct place place;

	if ((is_place(path, &place) || is_own_place(path, &place)) &&
	    place.thread == wf_self && is_written_by_owner(place.tail) &&
	    wf_kernel_state_begin(WF_BOUND_KERNEL_STATE) == 0)
		wf_kernel_state_end(0);
}

int wf_proc_open_slow(const char *path, int flags, bool is_stream)
{
	const int unlike = O_ACCMODE | O_DIRECTORY | O_PATH;
	const char *own = wf_proc_skip_own(path);
	struct place place;

	if ((flags & O_ACCMODE) != O_RDONLY)
		bind_writer(path);
	if (own != NULL)
		wf_proc_ask(own);
	if ((flags & unlike) != O_RDONLY)
		return -ENOENT;
	if ((is_place(path, &place) || is_own_place(path, &place)) &&
	    strcmp(place.tail, "/comm") == 0 && wf_name_is_kept(place.thread))
		return open_comm(place.thread, flags);
	if (is_stream && own != NULL &&
	    (strcmp(own, "/stat") == 0 || strcmp(own, "/status") == 0))
		return open_counted(path, own, flags);
	return -ENOENT;
}

/* --- questions about the process ------------------------------------------ */

static bool ends_in(const char *path, const char *component)
{
	size_t bytes = strnlen(path, PATH_MAX), len = strlen(component);

	while (bytes > 0 && path[bytes - 1] == '/')
		bytes--;
	return bytes >= len && strncmp(path + bytes - len, component, len) == 0;
}

void wf_proc_ask_slow(const char *path)
{
	static const char *const tells[] = { "/task", "/stat", "/status" };

	if (!wf_memory_is_string(path, PATH_MAX))
		return;
	for (size_t i = 0; i < WF_ARRAY_LEN(tells); i++) {
		if (ends_in(path, tells[i])) {
			wf_wind_down(false);
			return;
		}
	}
}

/* --- calls that open nothing ---------------------------------------------- */

WF_API(int, access, const char *path, int mode)
{
	struct wf_proc_path p;

	return wf_real.access(wf_proc_path(path, &p), mode);
}
