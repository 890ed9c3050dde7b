/* SPDX-License-Identifier: MIT */
/*
 * A cache of what is known of descriptors, by number, and each number's
 * generation. weft forgets an entry when it sees the number closed or replaced.
 * A number that libc closes behind weft's back may be remembered wrongly: so an
 * entry decides between fast and slow, never between right and wrong.
 */
#ifndef WEFT_IO_DESCRIPTOR_H
#define WEFT_IO_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Something that may make its reader wait for ever: a socket, a pipe, a
 * terminal, an eventfd and the like; no file on a disk.
 */
bool wf_descriptor_is_stream(int fd);
/* A socket without borders between messages. */
bool wf_descriptor_is_stream_socket(int fd);

/*
 * Will a read have to wait, as the last ones had to? Then it need not be tried
 * first. Each read asks once; one that was tried tells how it went.
 */
bool wf_descriptor_expects_wait(int fd);
void wf_descriptor_was_tried(int fd, bool has_to_wait);

/*
 * For how long a receive (send) may wait: SO_RCVTIMEO or SO_SNDTIMEO as a
 * CLOCK_MONOTONIC deadline from now, WF_FOREVER without.
 */
int64_t wf_descriptor_deadline(int fd, int option);

/* Did the last call on it that a disk may have held up take long? */
bool wf_descriptor_is_slow(int fd, bool if_unknown);
void wf_descriptor_set_slow(int fd, bool is_slow);
/* It did not, and nothing has spoken against it since. */
bool wf_descriptor_is_surely_quick(int fd);
void wf_descriptor_doubt(int fd);
/* Did the last call that waited until it was on its disk not take long? */
bool wf_descriptor_syncs_quickly(int fd);
void wf_descriptor_synced(int fd, bool is_quick);
/*
 * Was all of it in the page cache? Each read of a slow file tells; after many
 * in a row it is quick again, or each would pay for the question for ever.
 */
void wf_descriptor_was_cached(int fd, bool is_hit);

/* A limit is about to be set on some socket. */
void wf_descriptor_limit_comes(void);

/* A low-water mark is about to be set on some socket. */
void wf_descriptor_mark_comes(void);
/* Does a receive wait until more than a byte is there (SO_RCVLOWAT)? */
bool wf_descriptor_waits_for_more(int fd);

/* These ask the kernel each time. */
/* A socket that tells of more than errors where errors are told. */
bool wf_descriptor_queues_reports(int fd);
bool wf_descriptor_is_nonblocking(int fd);
bool wf_descriptor_is_socket(int fd);
/* A character device; whatever cannot be asked may be one, too. */
bool wf_descriptor_is_device(int fd);
/* Of a socket: it has a peer. */
bool wf_descriptor_is_connected(int fd);
/* An SO_ option; if_none: it is no socket, or has no such option. */
int wf_descriptor_option(int fd, int option, int if_none);
/* A socket whose messages have no borders. */
bool wf_descriptor_is_byte_stream(int fd);
bool wf_descriptor_is_unix(int fd);
/* A Unix socket whose receiver is told who has sent. */
bool wf_descriptor_reports_sender(int fd);

/*
 * A socket that has an address for itself and waits for whoever comes: it
 * listens, or receives from anybody.
 */
bool wf_descriptor_has_address(int fd);

/* A file with O_DIRECT when weft first met it. */
bool wf_descriptor_is_direct(int fd);
/* Or O_DSYNC: each write waits for the medium. */
bool wf_descriptor_is_written_through(int fd);

/* In /proc, /sys and the like, where it counts who reads or writes. */
bool wf_descriptor_is_kernels(int fd);

/* Does RWF_NOWAIT mean anything to the file, as far as is known? To an eventfd
 * it does for reads only. */
bool wf_descriptor_can_be_asked(int fd, bool to_write);
void wf_descriptor_cannot_be_asked(int fd, bool to_write);

/*
 * The number's generation: it changes, mostly, when the number becomes another
 * file's. That of numbers without an entry never does.
 */
uint32_t wf_descriptor_generation(int fd);
/* The same; from now on each close counts, whether the file is known or not. */
uint32_t wf_descriptor_count_generations(int fd);
/* False for large numbers, which have no generation. */
bool wf_descriptor_counts_generations(int fd);

/*
 * The number is about to be closed or replaced, or was behind weft's back, and
 * will be another file's: its generation ends. Nothing is known of it.
 */
void wf_descriptor_generation_ends(int fd);
void wf_descriptor_generations_end(unsigned int first, unsigned int last);
/*
 * Nothing is known of it: after it was closed, when others may have learnt of
 * the file that it was, or be at work on the one that it is by now.
 */
void wf_descriptor_forget(int fd);
void wf_descriptor_forget_all(unsigned int first, unsigned int last);

#endif
