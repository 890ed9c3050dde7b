/* SPDX-License-Identifier: MIT */
/*
 * The packets between a process that serves its memory (see/dump_server.c) and
 * `weft stacks -`, on a socket of the type SOCK_SEQPACKET.
 *
 *     server: struct wf_stream_hello
 *     server: nr_threads times struct wf_stream_thread, in as many packets as
 *             it likes
 *     server: maps_bytes bytes of /proc/PID/maps, likewise
 *     reader: struct wf_stream_request      )
 *     server: struct wf_stream_answer and   ) again and again
 *             its bytes, in one packet      )
 *
 * The reader ends it by closing the socket. All numbers are the CPU's.
 */
#ifndef WEFT_SEE_DUMP_STREAM_H
#define WEFT_SEE_DUMP_STREAM_H

#include <stdint.h>

#include "arch/x86_64/registers.h"

#define WF_STREAM_FORM 1
#define WF_STREAM_MAGIC                                 \
	{                                               \
		'W', 'e', 'f', 't', 'M', 'e', 'm', '\n' \
	}
/* The most bytes of an answer, and of a packet of maps or threads. */
#define WF_STREAM_MOST (64U << 10)

struct wf_stream_hello {
	char magic[8]; /* WF_STREAM_MAGIC */
	uint32_t form; /* WF_STREAM_FORM */
	uint32_t nr_threads;
	uint32_t thread_bytes; /* of struct wf_stream_thread */
	uint32_t maps_bytes;
};

/* A thread that ran, with its registers. */
struct wf_stream_thread {
	uint64_t thread_register;
	uint32_t tid; /* of its kernel thread */
	uint32_t unused;
	struct wf_arch_registers registers;
};

struct wf_stream_request {
	uint64_t address;
	uint64_t bytes; /* 1 to WF_STREAM_MOST */
};

struct wf_stream_answer {
	uint64_t bytes; /* that follow: up to the first that cannot be read */
};

#endif
