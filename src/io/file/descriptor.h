/* SPDX-License-Identifier: MIT */
/*
 * A cache of what weft knows about descriptors, by number, and each number's
 * generation. weft forgets an entry when it sees that the number is closed or
 * replaced. If libc closes a number unseen, the entry may be wrong. So an entry
 * decides between fast and slow, never between right and wrong.
 *
 *     if (!wf_descriptor_expects_wait(fd)) {
 *             n = recv(fd, buf, bytes, MSG_DONTWAIT);
 *             wf_descriptor_was_tried(fd, n < 0 && errno == EAGAIN);
 *     }
 */
#ifndef WEFT_IO_FILE_DESCRIPTOR_H
#define WEFT_IO_FILE_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>

/*
 * May a reader of fd wait for ever? True for a socket, a pipe, a terminal, an
 * eventfd and the like; false for a file on a disk.
 */
bool wf_descriptor_is_stream(int fd);
/* Is fd a socket without message boundaries? The cache may answer. */
bool wf_descriptor_is_stream_socket(int fd);

/*
 * Should the next read wait without a try, because the last reads on fd had to
 * wait? Call this once for each read. After each read that was tried, call
 * wf_descriptor_was_tried with whether the read had to wait.
 */
bool wf_descriptor_expects_wait(int fd);
void wf_descriptor_was_tried(int fd, bool has_to_wait);

/*
 * Returns the CLOCK_MONOTONIC deadline for a receive or a send that begins now.
 * It follows from the socket's time limit; WF_FOREVER: the socket has none.
 * `option` is SO_RCVTIMEO or SO_SNDTIMEO.
 */
int64_t wf_descriptor_deadline(int fd, int option);

/*
 * Did the last call on fd that may wait for a disk take long? if_unknown: the
 * answer if there was no such call.
 */
bool wf_descriptor_is_slow(int fd, bool if_unknown);
void wf_descriptor_set_slow(int fd, bool is_slow);
/*
 * Was that call quick, and has no call been in doubt since? After a doubt the
 * next call is measured.
 */
bool wf_descriptor_is_surely_quick(int fd);
void wf_descriptor_doubt(int fd);
/* Was the last fsync on fd, or a call like it, quick? */
bool wf_descriptor_syncs_quickly(int fd);
void wf_descriptor_synced(int fd, bool is_quick);
/*
 * Reports whether a read of a slow file found all its bytes in the page cache.
 * After 32 hits in a row the file is quick again: otherwise each read would pay
 * for that check for ever.
 */
void wf_descriptor_was_cached(int fd, bool is_hit);

/* The program is about to set a time limit on some socket. */
void wf_descriptor_limit_comes(void);

/* The program is about to set a low-water mark on some socket. */
void wf_descriptor_mark_comes(void);
/* Does a receive on fd wait until more than a byte is there (SO_RCVLOWAT)? */
bool wf_descriptor_waits_for_more(int fd);

/* The functions from here to wf_descriptor_reports_sender ask the kernel. */
/*
 * Does the socket put reports of sends into its error queue: time stamps, or
 * the ends of sends without a copy? Errors go there, too (IP_RECVERR). poll
 * reports POLLERR for all of them.
 */
bool wf_descriptor_queues_reports(int fd);
bool wf_descriptor_is_nonblocking(int fd);
bool wf_descriptor_is_socket(int fd);
/* Is fd a character device? True also if the kernel does not answer. */
bool wf_descriptor_is_device(int fd);
/* Does the socket have a peer? */
bool wf_descriptor_is_connected(int fd);
/*
 * The value of an SO_ option; if_none: the result if fd is no socket or has no
 * such option.
 */
int wf_descriptor_option(int fd, int option, int if_none);
/* Is fd a socket without message boundaries? */
bool wf_descriptor_is_byte_stream(int fd);
bool wf_descriptor_is_unix(int fd);
/* Does the Unix socket report each message's sender (SO_PASSCRED, ...)? */
bool wf_descriptor_reports_sender(int fd);

/*
 * Does the socket have an address and wait for any peer? True if it listens, or
 * receives datagrams and has no peer.
 */
bool wf_descriptor_has_address(int fd);

/* Did the file have O_DIRECT when weft first saw it? */
bool wf_descriptor_is_direct(int fd);
/* Did it have O_DIRECT or O_DSYNC? Then each write waits for the disk. */
bool wf_descriptor_is_written_through(int fd);

/*
 * Is the file in /proc, /sys or the like? There the result may depend on the
 * kernel thread that reads or writes.
 */
bool wf_descriptor_is_kernels(int fd);

/*
 * Does the file support RWF_NOWAIT, as far as weft knows? An eventfd supports
 * it for reads only.
 */
bool wf_descriptor_can_be_asked(int fd, bool to_write);
void wf_descriptor_cannot_be_asked(int fd, bool to_write);

/*
 * The number's generation. It changes when weft sees that the number becomes
 * another file's. The generation of a number without an entry never changes.
 */
uint32_t wf_descriptor_generation(int fd);
/* Returns the generation. From now on weft counts each close that it sees. */
uint32_t wf_descriptor_count_generations(int fd);
/* False for numbers from 65536 on, which have no entry. */
bool wf_descriptor_counts_generations(int fd);

/*
 * The number's generation ends, and weft forgets what it knew about the file.
 * Call it before the number is closed or replaced, or when that has happened
 * unseen.
 */
void wf_descriptor_generation_ends(int fd);
void wf_descriptor_generations_end(unsigned int first, unsigned int last);
/*
 * Forgets what weft knows about the file, after its number was closed. Other
 * threads may have learnt about the old file meanwhile. The generation stays,
 * since another thread may already use the number for the next file.
 */
void wf_descriptor_forget(int fd);
void wf_descriptor_forget_all(unsigned int first, unsigned int last);

#endif
