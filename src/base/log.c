/* SPDX-License-Identifier: MIT */
/*
 * A small formatter for messages. libc's formatter may allocate, takes locks
 * and reads the locale. The caller may hold one of the locks, or have no locale
 * yet. No function here sets errno.
 */
#include "base/log.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/upcall.h"

enum { LINE_MAX_BYTES = 500, DIGITS_MAX = 20 };

/* The text so far; text beyond `room` is dropped. */
struct out {
	char *buf;
	size_t len, room; /* room: without the final 0 */
};

static void put_bytes(struct out *o, const char *s, size_t nr)
{
	if (nr > o->room - o->len)
		nr = o->room - o->len;
	memcpy(o->buf + o->len, s, nr);
	o->len += nr;
}

static void put_char(struct out *o, char c)
{
	put_bytes(o, &c, 1);
}

static void put_string(struct out *o, const char *s)
{
	if (s == NULL)
		s = "(null)";
	put_bytes(o, s, strlen(s));
}

static void put_number(struct out *o, uint64_t v, unsigned int base)
{
	char digits[DIGITS_MAX];
	int i = DIGITS_MAX;

	do {
		digits[--i] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v != 0);
	put_bytes(o, digits + i, (size_t)(DIGITS_MAX - i));
}

static void put_signed(struct out *o, int64_t v)
{
	if (v < 0)
		put_char(o, '-');
	put_number(o, v < 0 ? -(uint64_t)v : (uint64_t)v, 10);
}

/* va_list in a struct: a pointer to it has the same type on all machines. */
struct args {
	va_list ap;
};

/* long, long long and size_t have 64 bits each. */
static void put_integer(struct out *o, char conversion, bool is_long,
			struct args *a)
{
	uint64_t v;

	if (conversion == 'd') {
		put_signed(o,
			   is_long ? va_arg(a->ap, long) : va_arg(a->ap, int));
		return;
	}
	v = is_long ? va_arg(a->ap, unsigned long) :
		      va_arg(a->ap, unsigned int);
	put_number(o, v, conversion == 'x' ? 16 : 10);
}

/* fmt is the text after the %. Returns the text after the conversion. */
static const char *put_conversion(struct out *o, const char *fmt,
				  struct args *a)
{
	bool is_long = false;

	for (; *fmt == 'l' || *fmt == 'z'; fmt++)
		is_long = true;
	switch (*fmt) {
	case 'd':
	case 'u':
	case 'x':
		put_integer(o, *fmt, is_long, a);
		break;
	case 'p':
		put_string(o, "0x");
		put_number(o, (uintptr_t)va_arg(a->ap, void *), 16);
		break;
	case 's':
		put_string(o, va_arg(a->ap, const char *));
		break;
	case 'c':
		put_char(o, (char)va_arg(a->ap, int));
		break;
	case '%':
		put_char(o, '%');
		break;
	case '\0':
		return fmt;
	default: /* unknown, as is its argument's size: print it */
		put_char(o, '%');
		put_char(o, *fmt);
		break;
	}
	return fmt + 1;
}

size_t wf_vformat(char *buf, size_t size, const char *fmt, va_list ap)
{
	struct out o = { buf, 0, size - 1 };
	struct args a;

	if (size == 0)
		return 0;
	va_copy(a.ap, ap);
	while (*fmt != '\0') {
		size_t plain = strcspn(fmt, "%");

		put_bytes(&o, fmt, plain);
		fmt += plain;
		if (*fmt == '%')
			fmt = put_conversion(&o, fmt + 1, &a);
	}
	va_end(a.ap);
	buf[o.len] = '\0';
	return o.len;
}

size_t wf_format(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;
	size_t len;

	va_start(ap, fmt);
	len = wf_vformat(buf, size, fmt, ap);
	va_end(ap);
	return len;
}

static void log_args(const char *fmt, va_list ap)
{
	char line[LINE_MAX_BYTES] = "weft: ";
	size_t len = strlen(line);

	/* The newline overwrites the final 0. */
	len += wf_vformat(line + len, sizeof(line) - len, fmt, ap);
	line[len++] = '\n';
	wf_upcall.log_write(line, len);
}

void wf_log(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_args(fmt, ap);
	va_end(ap);
}

void wf_panic(const char *func, const char *what)
{
	wf_log("fatal in %s, thread %ld: %s", func, wf_upcall.log_thread_id(),
	       what);
	wf_upcall.abort();
}
