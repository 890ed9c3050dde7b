/* SPDX-License-Identifier: MIT */
/*
 * How libweft-api.a finds the runtime in a process that has one: by a weak
 * reference to weft_runtime. Between the two libraries only; not installed.
 */
#ifndef WEFT_RUNTIME_H
#define WEFT_RUNTIME_H

#include <weft/weft.h>

/* Grows at the end; a newer library knows all that an older one asks for. */
struct weft_runtime_functions {
	size_t size; /* of what the runtime has */
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
};

const struct weft_runtime_functions *weft_runtime(void);

/*
 * Of libweft-api.a, for waits that look before they sleep: threads that wait a
 * lot run first, where some are runnable, and the caller again in its turn. 0
 * if there are none, or no runtime.
 */
int weft_let_others(void);
/* The kernel may run another process on this CPU, not weft another thread. */
void weft_yield_cpu(void);

#endif
