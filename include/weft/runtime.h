/* SPDX-License-Identifier: MIT */
/*
 * The interface by which libweft-api.a finds the runtime in its process: a weak
 * reference to weft_runtime. For these two libraries only; not installed.
 */
#ifndef WEFT_RUNTIME_H
#define WEFT_RUNTIME_H

#include <weft/weft.h>

/*
 * New functions are added at the end, so a newer runtime has all that an older
 * libweft-api.a uses.
 */
struct weft_runtime_functions {
	size_t size; /* bytes that the runtime fills */
	const char *(*version)(void);
	int (*is_active)(void);
	int (*word_wait_until)(const volatile void *, size_t, uint64_t,
			       uint64_t, const struct timespec *);
	int (*word_wait_any_until)(const struct weft_word *, size_t, size_t *,
				   const struct timespec *);
	uint32_t *(*word_new)(uint32_t);
	void (*word_free)(uint32_t *);
	void (*word_ring)(const volatile void *);
	int (*agent_set)(enum weft_agent_policy, unsigned int);
	void (*block_begin)(void);
	void (*block_end)(void);
	void (*stats)(struct weft_stats *, size_t);
	int (*let_others)(void);
	void (*yield_cpu)(void);
	size_t (*thread_list)(struct weft_thread *, size_t, size_t);
	int (*thread_bind)(pthread_t);
};

const struct weft_runtime_functions *weft_runtime(void);

/*
 * Runs runnable threads that wait often, then the caller again in its turn.
 * Waits of libweft-api.a that poll before they sleep call it. Returns 0 if
 * there are no such threads, or no runtime.
 */
int weft_let_others(void);
/*
 * Lets the kernel run another process on this CPU. Runs no other thread of
 * weft.
 */
void weft_yield_cpu(void);

#endif
