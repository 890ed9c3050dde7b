/* SPDX-License-Identifier: MIT */
/*
 * Lays out slots and manages their classes. A class has one stack size, rounded
 * up so that few classes exist, and one guard size. A slot's number decides its
 * colours: small offsets of the TCB and of the stack's end, which spread the
 * lines that each thread touches over the cache. src/mem/region.c supplies
 * address space.
 *
 * SLOT-1. A class is never removed and its constant fields never change, so a
 *     pointer to it stays valid.
 * SLOT-2. A slot never changes its class; no slot is unmapped.
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
#include "mem/region.h"
#include "os/mem.h"
#include "os/sys.h"

enum {
	MAX_CLASSES = 128,
	MAX_TIGHT_CLASSES = 64, /* leaves some for other classes */
	NR_COLOURS = 24,	/* at most, for TCBs */
	COLOUR_BYTES = 64,
	NOTE_BYTES = sizeof(struct wf_slot_note),
	/*
	 * Frames of a waiting thread: up to 1250 bytes of weft's, while it
	 * takes completions, and the program's, which may hold 1 KiB.
	 */
	SHALLOW_BYTES = 2432,
	NR_TOP_COLOURS = (WF_PAGE - SHALLOW_BYTES) / COLOUR_BYTES, /* 26 */
	/*
	 * Largest step between stack sizes: the slack, at most a step and a
	 * page, has to fit in its field.
	 */
	MAX_STEP_BYTES = 2 << 20,
	/* Like libc, weft takes static TLS and TCB out of the stack that was
	 * asked for, up to this size. */
	MAX_TLS_SHARE = 2 * WF_PAGE,
};

/* Largest stack or guard in bytes: sums of a few do not overflow. */
#define MOST_BYTES (SIZE_MAX / 16)

_Atomic bool wf_slots_have_code;

static struct wf_slot_class classes[MAX_CLASSES];
static _Atomic uint32_t nr_classes;
static struct wf_spin classes_lock = WF_SPIN_INIT;

/*
 * The kernel's largest signal frame, and below it the stack on which the thread
 * finishes the switch that resumes it.
 */
size_t wf_slot_save_bytes(void)
{
	unsigned long frame = getauxval(AT_MINSIGSTKSZ);

	if (frame < 2048)
		frame = 2048;
	return wf_align_up(frame + 2 * WF_PAGE, WF_PAGE);
}

/* Returns how many bytes a slot needs beyond the stack size asked for. */
static size_t extra_bytes(size_t stack, bool is_tight)
{
	size_t tls = wf_libc.static_tls_bytes;
	size_t share = tls < MAX_TLS_SHARE ? tls : (size_t)MAX_TLS_SHARE;
	size_t around = wf_libc.static_tls_align + NOTE_BYTES;

	/* The same as natively, but for the few bytes around the TLS. */
	if (is_tight)
		return stack != 0 ? wf_align_up(tls - share, WF_PAGE) :
				    wf_align_up(tls + around, WF_PAGE);
	around += NR_COLOURS * COLOUR_BYTES;
	return wf_align_up(stack != 0 ? tls - share + around + WF_PAGE :
					tls + around,
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

/*
 * Rounds a stack size up so that there are few classes: four to eight sizes per
 * power of two. Above 16 MiB the step is constant, so that the slack fits in 16
 * bits. Sizes of tight classes stay exact.
 */
static size_t round_stack(size_t bytes, bool is_tight)
{
	size_t step = WF_PAGE;

	if (bytes == 0 || bytes > MOST_BYTES)
		return 0; /* less than was asked for: the caller refuses */
	while (!is_tight && step * 8 < bytes && step < MAX_STEP_BYTES)
		step *= 2;
	return wf_align_up(bytes, step);
}

/* Returns the number of different colours of TCBs. */
static size_t nr_tcb_colours(size_t align)
{
	size_t together = wf_align_up(wf_libc.static_tls_used, COLOUR_BYTES) +
			  wf_libc.pthread_bytes + NOTE_BYTES;

	if (together + align <= WF_PAGE &&
	    (WF_PAGE - together) / COLOUR_BYTES < NR_COLOURS)
		return (WF_PAGE - together) / COLOUR_BYTES;
	return NR_COLOURS;
}

/*
 * Returns the address of the TCB of slot `number`. If they fit, the used part
 * of static TLS, TCB and note lie in one page, which allows fewer colours.
 */
static uintptr_t place_tcb(uintptr_t end, size_t number)
{
	size_t align = wf_libc.static_tls_align;

	align = align > COLOUR_BYTES ? align : (size_t)COLOUR_BYTES;
	end -= NOTE_BYTES + wf_libc.pthread_bytes +
	       number % nr_tcb_colours(align) * COLOUR_BYTES;
	return wf_align_down(end, align);
}

static struct wf_slot_class *find_class(size_t stack, size_t guard,
					bool is_tight)
{
	/* acquire: pairs with the release in make_class */
	uint32_t nr = wf_load_acquire(&nr_classes);

	for (uint32_t i = 0; i < nr; i++) {
		if (classes[i].stack_bytes == stack &&
		    classes[i].guard_bytes == guard &&
		    classes[i].is_tight == is_tight)
			return &classes[i];
	}
	return NULL;
}

static size_t lowest_tcb(size_t stride, bool is_tight)
{
	size_t lowest = place_tcb(stride, 0);

	if (is_tight)
		return lowest;
	for (size_t i = 0; i < NR_COLOURS; i++) {
		size_t at = place_tcb(stride, i);

		lowest = at < lowest ? at : lowest;
	}
	return lowest;
}

/*
 * Returns the lowest offset of a stack's end. It is in the page below the one
 * in which the static TLS blocks begin; in a tight class just below these.
 */
static size_t lowest_top(size_t stride, bool is_tight)
{
	size_t limit = lowest_tcb(stride, is_tight) + wf_libc.pthread_bytes -
		       wf_libc.static_tls_bytes;

	if (is_tight)
		return wf_align_down(limit, (size_t)COLOUR_BYTES);
	return wf_align_down(limit, WF_PAGE) - WF_PAGE + SHALLOW_BYTES;
}

static struct wf_slot_class *make_class(size_t stack, size_t guard, bool tight)
{
	size_t stride = guard + stack + extra_bytes(stack, tight);
	size_t apart = tight ? 0 : wf_region_shift_bytes(stride);
	struct wf_slot_class *c;
	uint32_t nr;

	wf_spin_lock(&classes_lock, WF_RANK_SLOT_CLASSES);
	c = find_class(stack, guard, tight);
	nr = wf_load_relaxed(&nr_classes);
	if (c == NULL && nr < MAX_CLASSES) {
		c = &classes[nr];
		*c = (struct wf_slot_class){
			.is_tight = tight,
			.stack_bytes = stack,
			.guard_bytes = guard,
			.stride = stride,
			.pitch = stride + apart,
			.save_bytes = tight ? 0 : wf_slot_save_bytes(),
			.tcb_lowest = lowest_tcb(stride, tight),
			.top_lowest = lowest_top(stride, tight),
			.region_slots = WF_REGION_FIRST_SLOTS,
		};
		/*
		 * release: publishes the class (SLOT-1); pairs with find_class.
		 */
		wf_store_release(&nr_classes, nr + 1);
	}
	wf_spin_unlock(&classes_lock);
	return c;
}

/* Returns the class with these sizes, or NULL. is_new: makes it if needed. */
static struct wf_slot_class *get_class(size_t stack_bytes, size_t guard,
				       bool is_tight, bool is_new)
{
	size_t stack = round_stack(stack_bytes, is_tight);
	struct wf_slot_class *c;

	if (stack < stack_bytes)
		return NULL;
	c = find_class(stack, guard, is_tight);
	if (c != NULL || !is_new)
		return c;
	if (is_tight && wf_load_relaxed(&nr_classes) >= MAX_TIGHT_CLASSES)
		return NULL;
	return make_class(stack, guard, is_tight);
}

struct wf_slot_class *wf_slot_class_get(size_t stack_bytes, size_t guard_bytes)
{
	size_t guard = wf_align_up(guard_bytes, WF_PAGE);
	struct wf_slot_class *c;

	if (guard_bytes > MOST_BYTES)
		return NULL;
	c = get_class(stack_bytes, guard, wf_load_relaxed(&wf_slots_are_tight),
		      false);
	if (c != NULL)
		return c;
	wf_region_update_limits();
	if (wf_load_relaxed(&wf_slots_are_tight))
		c = get_class(stack_bytes, guard, true, true);
	return c != NULL ? c : get_class(stack_bytes, guard, false, true);
}

static void warn_no_guard(int err)
{
	static _Atomic bool warned;

	if (!atomic_exchange(&warned, true))
		wf_log("cannot guard a stack (%s %d): an overflow in this "
		       "process may go unnoticed; raise vm.max_map_count",
		       "error", -err);
}

/* --- where things lie --------------------------------------------------- */

/*
 * The end of the stack of slot `number`, in steps of COLOUR_BYTES from the
 * class's lowest end. It lies in the page below the one in which static TLS
 * blocks begin, at all offsets equally often. Not just above a page's border,
 * where the first frames would touch two pages; and no higher, since the stack
 * would be larger than was asked for.
 */
static uint8_t place_top(uint32_t number)
{
	return (uint8_t)(number % NR_TOP_COLOURS);
}

static struct wf_slot_note *note_of(const struct wf_slot *s)
{
	return (struct wf_slot_note *)(s->tcb + wf_libc.pthread_bytes);
}

int wf_slot_map(struct wf_slot_class *c, struct wf_slot *ret_slot)
{
	struct wf_slot s = { .class = c };
	char *save_top;
	uint32_t number;
	int err;

	err = wf_region_take(c, &s.low, &save_top, &number);
	if (err < 0)
		return err;
	if (c->is_tight)
		number = 0; /* no colours */
	if (c->guard_bytes > 0 && !c->is_tight) {
		err = wf_os_guard(s.low, c->guard_bytes);
		if (err < 0)
			warn_no_guard(err);
	}
	s.tcb = place_tcb((uintptr_t)s.low + c->stride, number);
	s.stack_colour = place_top(number);
	*note_of(&s) = (struct wf_slot_note){
		.save_top = save_top,
		.home = s.low,
		.home_colour = s.stack_colour,
	};
	*ret_slot = s;
	return 0;
}

struct wf_slot_class *wf_slot_class_at(uint32_t i)
{
	return i < wf_load_acquire(&nr_classes) ? &classes[i] : NULL;
}

void wf_slot_trim(const struct wf_slot *s)
{
	const struct wf_slot_class *c = s->class;
	char *low = s->low + c->guard_bytes;
	/* The TCB above stays: of this slot, or of a slot with which it has
	 * exchanged stacks. */
	char *kept =
		s->low +
		wf_align_down(c->tcb_lowest - wf_libc.static_tls_used, WF_PAGE);

	wf_os_forget(low, (size_t)(kept - low));
	if (note_of(s)->save_top != NULL)
		wf_os_forget(note_of(s)->save_top - wf_slot_save_bytes(),
			     wf_slot_save_bytes());
}

bool wf_slot_allow_code(const struct wf_slot *s, uintptr_t addr)
{
	const struct wf_slot_class *c = s->class;
	uintptr_t low = c != NULL ? (uintptr_t)s->low + c->guard_bytes : 0;

	return c != NULL && c->stack_bytes != 0 && addr >= low &&
	       addr < (uintptr_t)s->low + c->stride &&
	       wf_os_open((void *)low, c->stride - c->guard_bytes, true) == 0;
}

void wf_slot_own_stack(struct wf_slot *s)
{
	s->has_user_stack = false;
}

void wf_slot_use_stack(struct wf_slot *s, void *low, size_t bytes)
{
	s->has_user_stack = true;
	note_of(s)->user_low = low;
	note_of(s)->user_bytes = bytes;
}

char *wf_slot_stack_low(const struct wf_slot *s)
{
	return s->has_user_stack ? note_of(s)->user_low :
				   s->low + s->class->guard_bytes;
}

size_t wf_slot_stack_bytes(const struct wf_slot *s)
{
	return s->has_user_stack ? note_of(s)->user_bytes :
				   s->class->stride - s->class->guard_bytes;
}

char *wf_slot_stack_end(const struct wf_slot *s)
{
	return wf_slot_stack_low(s) + wf_slot_stack_bytes(s);
}

uint16_t wf_slot_slack(const struct wf_slot_class *class, size_t stack_bytes)
{
	size_t align = wf_libc.static_tls_align;

	align = align > WF_SLACK_UNIT ? align : (size_t)WF_SLACK_UNIT;
	stack_bytes = wf_align_down(stack_bytes, align);
	return (uint16_t)((class->stack_bytes - stack_bytes) / WF_SLACK_UNIT);
}

static size_t slack_in(const struct wf_slot_class *c,
		       const struct wf_slot_class *wanted)
{
	return (c->stack_bytes - wanted->stack_bytes) / WF_SLACK_UNIT;
}

/* Compares sizes. The sum of both slacks has to fit in 16 bits, too. */
bool wf_slot_class_serves(const struct wf_slot_class *c,
			  const struct wf_slot_class *wanted)
{
	return c != wanted && c->guard_bytes == wanted->guard_bytes &&
	       wanted->stack_bytes != 0 &&
	       c->stack_bytes >= wanted->stack_bytes &&
	       slack_in(c, wanted) < UINT16_MAX / 2;
}

uint16_t wf_slot_slack_in(const struct wf_slot_class *c,
			  const struct wf_slot_class *wanted, uint16_t slack)
{
	return (uint16_t)(slack + slack_in(c, wanted));
}

size_t wf_slot_asked_bytes(const struct wf_slot *s, uint16_t slack)
{
	return s->has_user_stack ?
		       note_of(s)->user_bytes :
		       s->class->stack_bytes - slack * (size_t)WF_SLACK_UNIT;
}

size_t wf_slot_guard_bytes(const struct wf_slot *s)
{
	return s->has_user_stack ? 0 : s->class->guard_bytes;
}

char *wf_slot_block_low(const struct wf_slot *s)
{
	return s->has_user_stack ? note_of(s)->user_low : s->low;
}

size_t wf_slot_block_bytes(const struct wf_slot *s)
{
	return s->has_user_stack ? note_of(s)->user_bytes : s->class->stride;
}

/* A save area low in the thread's own stack if sp is far from it; else NULL. */
static char *save_on_stack(const struct wf_slot *s, uintptr_t sp)
{
	char *top = wf_slot_stack_low(s) + wf_slot_save_bytes();
	uintptr_t least = (uintptr_t)top + wf_slot_save_bytes();

	if (s->has_user_stack || s->class->stack_bytes == 0 || sp < least ||
	    sp >= (uintptr_t)wf_slot_stack_top(s))
		return NULL;
	return top;
}

char *wf_slot_save_for(const struct wf_slot *s, uintptr_t sp)
{
	size_t bytes = wf_slot_save_bytes();
	char *top = s->class != NULL ? note_of(s)->save_top : s->low;

	if (WF_LIKELY(top != NULL))
		return top;
	top = save_on_stack(s, sp);
	if (top != NULL)
		return top;
	top = wf_os_reserve(bytes);
	if (top == NULL)
		return NULL;
	note_of(s)->save_top = top + bytes;
	return top + bytes;
}

void *wf_slot_stack_top(const struct wf_slot *s)
{
	if (WF_LIKELY(!s->has_user_stack))
		return s->low + s->class->top_lowest +
		       s->stack_colour * (size_t)COLOUR_BYTES;
	return note_of(s)->user_low + note_of(s)->user_bytes;
}

char *wf_slot_home(const struct wf_slot *s)
{
	return note_of(s)->home;
}

void wf_slot_take_home(struct wf_slot *s, const struct wf_slot *of)
{
	s->low = note_of(of)->home;
	s->stack_colour = note_of(of)->home_colour;
}

void wf_slot_fork_child(void)
{
	uint32_t nr = wf_load_relaxed(&nr_classes);

	classes_lock = WF_SPIN_INIT;
	for (uint32_t i = 0; i < nr; i++) {
		classes[i].lock = WF_SPIN_INIT;
		/* table.c fills free_threads again */
		classes[i].free_threads = NULL;
		classes[i].old_threads = NULL;
		classes[i].cold_threads = NULL;
	}
}

size_t wf_slot_mapped(uint32_t *ret_nr)
{
	uint32_t nr = wf_load_acquire(&nr_classes);
	size_t bytes = 0;

	*ret_nr = 0;
	for (uint32_t i = 0; i < nr; i++) {
		bytes += classes[i].nr_mapped * classes[i].pitch;
		*ret_nr += classes[i].nr_mapped;
	}
	return bytes;
}
