/*
 * M1. A class is never removed and its constant fields never change, so a
 *     pointer to it is valid for ever.
 * M2. A slot belongs to its class for ever; nothing is unmapped.
 *
 * Rejected: one mapping per stack. The kernel's limit on mappings
 * (vm.max_map_count) ends that at about 32,000 threads.
 */
#include "mem/slot.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/options.h"
#include "libc/layout.h"
#include "os/mem.h"
#include "os/sys.h"

enum {
	MAX_CLASSES = 128,
	FIRST_REGION_SLOTS = 16,
	MAX_REGION_SLOTS = 4096,
	NR_COLOURS = 64,
	COLOUR_BYTES = 64,
};

static struct wf_slot_class classes[MAX_CLASSES];
static _Atomic uint32_t nr_classes;
static struct wf_spin classes_lock = WF_SPIN_INIT;

/*
 * The kernel's largest signal frame, and below it the stack on which the
 * thread finishes the switch that resumes it.
 */
size_t wf_slot_save_bytes(void)
{
	unsigned long frame = getauxval(AT_MINSIGSTKSZ);

	if (frame < 2048)
		frame = 2048;
	return wf_align_up(frame + 2 * WF_PAGE, WF_PAGE);
}

static size_t tls_bytes(void)
{
	size_t colours = NR_COLOURS * COLOUR_BYTES;

	return wf_align_up(wf_libc.static_tls_bytes + wf_libc.static_tls_align +
				   colours,
			   WF_PAGE);
}

size_t wf_slot_default_stack_bytes(void)
{
	enum { NPTL_DEFAULT = 8 << 20, NPTL_MIN = 16 << 10 };
	struct rlimit limit = { 0 };

	if (wf_options.stack_size != 0)
		return wf_align_up((size_t)wf_options.stack_size, WF_PAGE);
	wf_sys(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &limit);
	if (limit.rlim_cur == RLIM_INFINITY)
		return NPTL_DEFAULT;
	if (limit.rlim_cur < NPTL_MIN)
		return NPTL_MIN;
	return wf_align_up((size_t)limit.rlim_cur, WF_PAGE);
}

/* Few classes: four sizes per power of two. */
static size_t round_stack(size_t bytes)
{
	size_t step = WF_PAGE;

	if (bytes == 0 || bytes > SIZE_MAX / 16)
		return 0; /* less than was asked for: refused */
	while (step * 8 < bytes)
		step *= 2;
	return wf_align_up(bytes, step);
}

static struct wf_slot_class *find_class(size_t stack, size_t guard)
{
	/* acquire: pairs with the release in make_class. */
	uint32_t nr = wf_load_acquire(&nr_classes);

	for (uint32_t i = 0; i < nr; i++) {
		if (classes[i].stack_bytes == stack &&
		    classes[i].guard_bytes == guard)
			return &classes[i];
	}
	return NULL;
}

static struct wf_slot_class *make_class(size_t stack, size_t guard)
{
	struct wf_slot_class *c;
	uint32_t nr;

	wf_spin_lock(&classes_lock);
	c = find_class(stack, guard);
	nr = wf_load_relaxed(&nr_classes);
	if (c == NULL && nr < MAX_CLASSES) {
		c = &classes[nr];
		*c = (struct wf_slot_class){
			.stack_bytes = stack,
			.guard_bytes = guard,
			.stride = guard + stack + tls_bytes() +
				  wf_slot_save_bytes(),
			.region_slots = FIRST_REGION_SLOTS,
		};
		/* release: publishes the class (M1); pairs with find_class. */
		wf_store_release(&nr_classes, nr + 1);
	}
	wf_spin_unlock(&classes_lock);
	return c;
}

struct wf_slot_class *wf_slot_class_get(size_t stack_bytes, size_t guard_bytes)
{
	size_t stack = round_stack(stack_bytes);
	size_t guard = wf_align_up(guard_bytes, WF_PAGE);
	struct wf_slot_class *c;

	if (stack < stack_bytes || guard < guard_bytes)
		return NULL;
	c = find_class(stack, guard);
	return c != NULL ? c : make_class(stack, guard);
}

/* Reserves a region; smaller ones when address space is short. */
static bool map_region_locked(struct wf_slot_class *c)
{
	size_t slots = c->region_slots;
	char *p = NULL;

	for (; slots > 0; slots /= 2) {
		size_t bytes;

		if (__builtin_mul_overflow(slots, c->stride, &bytes))
			continue;
		p = wf_os_reserve(bytes);
		if (p != NULL)
			break;
	}
	if (p == NULL)
		return false;
	wf_os_no_huge(p, slots * c->stride);
	c->region_next = p;
	c->region_end = p + slots * c->stride;
	c->region_slots = slots * 2 > MAX_REGION_SLOTS ? MAX_REGION_SLOTS :
							 slots * 2;
	return true;
}

static void warn_no_guard(int err)
{
	static _Atomic bool warned;

	if (!atomic_exchange(&warned, true))
		wf_log("cannot guard a stack (%s %d): an overflow in this "
		       "process may go unnoticed; raise vm.max_map_count",
		       "error", -err);
}

int wf_slot_map(struct wf_slot_class *c, struct wf_slot *ret_slot)
{
	struct wf_slot s = { .class = c, .guard_bytes = c->guard_bytes };
	uintptr_t tcb, colour;
	uint32_t number;

	wf_spin_lock(&c->lock);
	if (c->region_next == c->region_end && !map_region_locked(c)) {
		wf_spin_unlock(&c->lock);
		return -ENOMEM;
	}
	s.low = c->region_next;
	c->region_next += c->stride;
	number = c->nr_mapped++;
	wf_spin_unlock(&c->lock);

	if (c->guard_bytes > 0) {
		int err = wf_os_guard(s.low, c->guard_bytes);

		if (err < 0)
			warn_no_guard(err);
	}
	s.save_top = s.low + c->stride;
	colour = (number % NR_COLOURS) * COLOUR_BYTES;
	tcb = (uintptr_t)s.save_top - wf_slot_save_bytes() - colour -
	      wf_libc.pthread_bytes;
	s.tcb = wf_align_down(tcb, wf_libc.static_tls_align > 64 ?
					   wf_libc.static_tls_align :
					   (size_t)64);
	wf_slot_own_stack(&s);
	*ret_slot = s;
	return 0;
}

void wf_slot_own_stack(struct wf_slot *s)
{
	s->has_user_stack = false;
	s->guard_bytes = s->class->guard_bytes;
	s->stack_low = s->low + s->guard_bytes;
	s->stack_bytes =
		(size_t)(s->save_top - s->stack_low) - wf_slot_save_bytes();
}

void wf_slot_use_stack(struct wf_slot *s, void *low, size_t bytes)
{
	s->has_user_stack = true;
	s->stack_low = low;
	s->stack_bytes = bytes;
	s->guard_bytes = 0;
}

void *wf_slot_stack_top(const struct wf_slot *s)
{
	if (s->has_user_stack)
		return s->stack_low + s->stack_bytes;
	/* Below the static TLS blocks, which end at the TCB's end. */
	return (void *)(s->tcb + wf_libc.pthread_bytes -
			wf_libc.static_tls_bytes);
}

void wf_slot_fork_child(void)
{
	uint32_t nr = wf_load_relaxed(&nr_classes);

	classes_lock = WF_SPIN_INIT;
	for (uint32_t i = 0; i < nr; i++)
		classes[i].lock = WF_SPIN_INIT;
}
