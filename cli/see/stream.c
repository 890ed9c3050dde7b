/* SPDX-License-Identifier: MIT */
/*
 * The memory of a process that serves it to a socket (src/see/dump_stream.h).
 * It needs no right to read another process. The memory does not change, and
 * the registers of threads that ran have come with it: as with a core file.
 *
 * The other end is taken for hostile, too: each number has a limit, and a
 * packet that is not as announced is an error, after which no memory is read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "see/dump_stream.h"
#include "source.h"

enum {
	MAX_THREADS = 1 << 16,
	MAX_MAPS_BYTES = 256 << 20,
	ANSWER_S = 60, /* the server answers at once, unless it has ended */
};

/*
 * A request is two switches between processes, so pages are kept, and some are
 * asked for in advance. A page is in the place that its number leads to.
 */
enum {
	PAGE = 4096,
	NR_PAGES = 4096,
	PAGES_AT_ONCE = 8,
};

struct stream {
	struct wf_see_source source;
	int fd;			    /* -1: it has failed */
	uint64_t address[NR_PAGES]; /* UINT64_MAX: none */
	char page[NR_PAGES][PAGE];
};

static ssize_t receive(int fd, struct iovec *parts, size_t nr)
{
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = nr };
	ssize_t n;

	do
		n = recvmsg(fd, &message, 0);
	while (n < 0 && errno == EINTR);
	return (message.msg_flags & MSG_TRUNC) != 0 ? -1 : n;
}

/* All bytes, in as many packets as they come. */
static bool receive_all(int fd, void *to, size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		struct iovec part = { (char *)to + done, bytes - done };
		ssize_t n = receive(fd, &part, 1);

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static void fail(struct stream *s)
{
	close(s->fd);
	s->fd = -1;
}

static size_t read_part(struct stream *s, uint64_t address, void *to,
			size_t bytes)
{
	const struct wf_stream_request request = { address, bytes };
	struct wf_stream_answer answer;
	struct iovec parts[] = { { &answer, sizeof(answer) }, { to, bytes } };
	ssize_t n = -1;

	if (s->fd < 0)
		return 0;
	if (send(s->fd, &request, sizeof(request), MSG_NOSIGNAL) ==
	    sizeof(request))
		n = receive(s->fd, parts, 2);
	if (n < (ssize_t)sizeof(answer) ||
	    answer.bytes != (uint64_t)n - sizeof(answer)) {
		fail(s);
		return 0;
	}
	return answer.bytes;
}

static size_t place_of(uint64_t page)
{
	return page / PAGE % NR_PAGES;
}

/* Reads the page and some after it. NULL: it cannot be read. */
static const char *fetch(struct stream *s, uint64_t page)
{
	char some[PAGES_AT_ONCE][PAGE];
	uint64_t after = UINT64_MAX - page;
	size_t most = after < sizeof(some) ? PAGE - 1 : sizeof(some);
	size_t nr = read_part(s, page, some, most) / PAGE;

	for (size_t i = nr; i-- > 0;) {
		size_t place = place_of(page + i * PAGE);

		s->address[place] = page + i * PAGE;
		memcpy(s->page[place], some[i], PAGE);
	}
	return nr > 0 ? s->page[place_of(page)] : NULL;
}

static size_t read_memory(const struct wf_see_source *source, uint64_t address,
			  void *to, size_t bytes)
{
	struct stream *s = (struct stream *)(uintptr_t)source;
	size_t done = 0;

	if (address > UINT64_MAX - bytes)
		return 0;
	while (done < bytes) {
		uint64_t at = (address + done) % PAGE;
		uint64_t page = address + done - at;
		size_t n = bytes - done < PAGE - at ? bytes - done : PAGE - at;
		const char *from = s->address[place_of(page)] == page ?
					   s->page[place_of(page)] :
					   fetch(s, page);

		if (from == NULL)
			break;
		memcpy((char *)to + done, from + at, n);
		done += n;
	}
	return done;
}

static void close_stream(struct wf_see_source *source)
{
	struct stream *s = (struct stream *)source;

	if (s->fd >= 0)
		close(s->fd);
	wf_see_maps_free(source);
	free(source->kernel);
	free(s);
}

static int read_threads(struct stream *s, uint32_t nr)
{
	struct wf_see_source *source = &s->source;

	source->kernel = calloc(nr + 1, sizeof(*source->kernel));
	if (source->kernel == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		struct wf_stream_thread t;

		if (!receive_all(s->fd, &t, sizeof(t)))
			return WF_SEE_NOT_STREAM;
		source->kernel[i] = (struct wf_see_kernel_thread){
			.tid = (int)t.tid,
			.registers = { .fs_base = t.thread_register,
				       .rip = t.registers.rip,
				       .rsp = t.registers.rsp,
				       .rbp = t.registers.rbp,
				       .rbx = t.registers.rbx,
				       .r12 = t.registers.r12,
				       .r13 = t.registers.r13,
				       .r14 = t.registers.r14,
				       .r15 = t.registers.r15 },
		};
	}
	source->nr_kernel = nr;
	wf_see_kernel_threads_sort(source);
	return 0;
}

static int parse_maps(struct wf_see_source *source, char *text)
{
	char *line, *rest = text;
	struct wf_see_map map;
	int err = 0;

	while (err == 0 && (line = strsep(&rest, "\n")) != NULL)
		if (wf_see_map_parse(line, &map))
			err = wf_see_map_add(source, &map);
	return err;
}

static int read_maps(struct stream *s, uint32_t bytes)
{
	char *text = malloc((size_t)bytes + 1);
	int err = WF_SEE_NOT_STREAM;

	if (text == NULL)
		return -ENOMEM;
	if (receive_all(s->fd, text, bytes)) {
		text[bytes] = '\0';
		err = parse_maps(&s->source, text);
	}
	free(text);
	return err;
}

static int begin(struct stream *s)
{
	const struct timeval timeout = { .tv_sec = ANSWER_S };
	const char magic[] = WF_STREAM_MAGIC;
	struct wf_stream_hello hello;
	struct iovec part = { &hello, sizeof(hello) };
	socklen_t bytes = sizeof(int);
	int type, err;

	if (getsockopt(s->fd, SOL_SOCKET, SO_TYPE, &type, &bytes) < 0 ||
	    type != SOCK_SEQPACKET)
		return WF_SEE_NOT_STREAM;
	setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	if (receive(s->fd, &part, 1) != sizeof(hello) ||
	    memcmp(hello.magic, magic, sizeof(magic)) != 0)
		return WF_SEE_NOT_STREAM;
	if (hello.form != WF_STREAM_FORM ||
	    hello.thread_bytes != sizeof(struct wf_stream_thread))
		return WF_SEE_OTHER_FORM;
	if (hello.nr_threads > MAX_THREADS || hello.maps_bytes > MAX_MAPS_BYTES)
		return WF_SEE_BROKEN;
	err = read_threads(s, hello.nr_threads);
	return err == 0 ? read_maps(s, hello.maps_bytes) : err;
}

int wf_see_stream_open(int fd, struct wf_see_source **ret_source)
{
	struct stream *s = calloc(1, sizeof(*s));
	int err;

	if (s == NULL)
		return -ENOMEM;
	s->fd = fd;
	memset(s->address, 0xff, sizeof(s->address));
	s->source.read = read_memory;
	s->source.close = close_stream;
	err = begin(s);
	if (err < 0) {
		close_stream(&s->source);
		return err;
	}
	*ret_source = &s->source;
	return 0;
}
