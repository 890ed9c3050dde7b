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
	MAX_OPEN_SLOTS = 64,
	NR_COLOURS = 24, /* of the TCB, at most */
	COLOUR_BYTES = 64,
	NOTE_BYTES = sizeof(struct wf_slot_note),
	/* For the frames of a thread that waits: up to 1250 of weft's, when it
	 * takes completions on its way out, and those of the program, which
	 * may have a buffer of 1 KiB there. */
	SHALLOW_BYTES = 2432,
	/* Of the address space, where that is limited, a region's. */
	REGION_SHARE = 64,
	NR_TOP_COLOURS = (WF_PAGE - SHALLOW_BYTES) / COLOUR_BYTES, /* 26 */
	/* Of a slot among those that lie at unequal distances: see shift_of. */
	NR_SHIFTS = 8,
	WIDE_BYTES = 8 << 20,
	/* Of stack sizes: a slack is less, also of a size that is rounded down
	 * by the alignment of a page. */
	MAX_STEP_BYTES = 2 << 20,
	/* libc takes static TLS and TCB out of the stack that was asked for;
	 * weft does so up to here. */
	MAX_TLS_SHARE = 2 * WF_PAGE,
};

/* Of a stack or a guard: more than there can be, and few enough to add up. */
#define MOST_BYTES (SIZE_MAX / 16)

_Atomic bool wf_slots_have_code;

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

/* What a slot has on top of the stack that was asked for. */
static size_t extra_bytes(size_t stack)
{
	size_t tls = wf_libc.static_tls_bytes;
	size_t bytes = tls + wf_libc.static_tls_align + NOTE_BYTES +
		       NR_COLOURS * COLOUR_BYTES;

	if (stack != 0) {
		bytes += WF_PAGE;
		bytes -= tls < MAX_TLS_SHARE ? tls : (size_t)MAX_TLS_SHARE;
	}
	return wf_align_up(bytes, WF_PAGE);
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
 * Few classes: four sizes per power of two, and more only of stacks above
 * 16 MiB, so that the slack fits in its 16 bits.
 */
static size_t round_stack(size_t bytes)
{
	size_t step = WF_PAGE;

	if (bytes == 0 || bytes > MOST_BYTES)
		return 0; /* less than was asked for: refused */
	while (step * 8 < bytes && step < MAX_STEP_BYTES)
		step *= 2;
	return wf_align_up(bytes, step);
}

/* Colours of a TCB of a class. */
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
 * The TCB, for slot `number` of its class. Static TLS in use, TCB and note lie
 * in one page if they can: fewer colours then.
 */
static uintptr_t place_tcb(uintptr_t end, size_t number)
{
	size_t align = wf_libc.static_tls_align;

	align = align > COLOUR_BYTES ? align : (size_t)COLOUR_BYTES;
	end -= NOTE_BYTES + wf_libc.pthread_bytes +
	       number % nr_tcb_colours(align) * COLOUR_BYTES;
	return wf_align_down(end, align);
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

static size_t lowest_tcb(size_t stride)
{
	size_t lowest = stride;

	for (size_t i = 0; i < NR_COLOURS; i++) {
		size_t at = place_tcb(stride, i);

		lowest = at < lowest ? at : lowest;
	}
	return lowest;
}

/* Below the page in which the static TLS blocks begin. */
static size_t lowest_top(size_t stride)
{
	size_t limit = lowest_tcb(stride) + wf_libc.pthread_bytes -
		       wf_libc.static_tls_bytes;

	return wf_align_down(limit, WF_PAGE) - WF_PAGE + SHALLOW_BYTES;
}

/*
 * Threads that take turns in the order of their slots are up to half slower
 * where these lie 8 MiB or more apart, on AMD's Zen 5, but not in another
 * order: the CPU fetches ahead what is touched at equal distances, and seems to
 * take such a distance for a shorter one. So wide slots, of which the default
 * stack makes one, lie at unequal distances.
 */
static size_t shift_of(const struct wf_slot_class *c, uint32_t number)
{
	if (c->pitch == c->stride)
		return 0;
	/* By the golden ratio: the next one is never near, nor as far. */
	return (number * 2654435769U) / (UINT32_MAX / NR_SHIFTS + 1) * WF_PAGE;
}

static struct wf_slot_class *make_class(size_t stack, size_t guard)
{
	size_t stride = guard + stack + extra_bytes(stack);
	size_t apart = stride < WIDE_BYTES ? 0 : (NR_SHIFTS - 1) * WF_PAGE;
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
			.stride = stride,
			.pitch = stride + apart,
			.tcb_lowest = lowest_tcb(stride),
			.top_lowest = lowest_top(stride),
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

	if (stack < stack_bytes || guard_bytes > MOST_BYTES)
		return NULL;
	c = find_class(stack, guard);
	return c != NULL ? c : make_class(stack, guard);
}

/*
 * Reserves a region: slots, then save areas, which few threads ever touch and
 * which would cost page tables between them. Smaller when address space is
 * short.
 */
static bool map_region_locked(struct wf_slot_class *c)
{
	size_t each = c->pitch + wf_slot_save_bytes();
	size_t limit = wf_os_address_limit() / REGION_SHARE;
	size_t slots = c->region_slots;
	char *p = NULL;

	while (slots > 1 && slots > limit / each)
		slots /= 2;
	for (; slots > 0; slots /= 2) {
		size_t bytes;

		if (__builtin_mul_overflow(slots, each, &bytes))
			continue;
		p = wf_os_reserve_closed(bytes);
		if (p != NULL)
			break;
	}
	if (p == NULL)
		return false;
	wf_os_no_huge(p, slots * each);
	c->region_next = p;
	c->region_open = p;
	c->region_end = p + slots * c->pitch;
	c->save_next = c->region_end;
	c->region_slots = slots * 2 > MAX_REGION_SLOTS ? MAX_REGION_SLOTS :
							 slots * 2;
	return true;
}

/*
 * Opens some more slots. All at once would let mlockall fill them with memory
 * and, where nothing is overcommitted, count them against the limit.
 */
static bool open_slots_locked(struct wf_slot_class *c)
{
	size_t left = (size_t)(c->region_end - c->region_open) / c->pitch;
	size_t nr = c->nr_mapped / 8 + 1;

	nr = nr < MAX_OPEN_SLOTS ? nr : MAX_OPEN_SLOTS;
	nr = nr < left ? nr : left;
	for (; nr > 0; nr /= 2) {
		if (wf_os_open(c->save_next, nr * wf_slot_save_bytes(),
			       false) == 0 &&
		    wf_os_open(c->region_open, nr * c->pitch,
			       wf_load_relaxed(&wf_slots_have_code)) == 0)
			break;
	}
	c->region_open += nr * c->pitch;
	return nr > 0;
}

static int take_locked(struct wf_slot_class *c, struct wf_slot *s,
		       char **ret_save_top, uint32_t *ret_number)
{
	if (c->region_next == c->region_end && !map_region_locked(c))
		return -ENOMEM;
	if (c->region_next == c->region_open && !open_slots_locked(c))
		return -ENOMEM;
	s->low = c->region_next + shift_of(c, c->nr_mapped);
	c->region_next += c->pitch;
	c->save_next += wf_slot_save_bytes();
	*ret_save_top = c->save_next;
	*ret_number = c->nr_mapped++;
	return 0;
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
 * The stack's end: in the page below the one in which the static TLS blocks
 * begin; not just above a page's border, where the first frames would touch two
 * pages; and at all other offsets alike. For stack `number` of its class, in
 * steps of COLOUR_BYTES from the lowest end that there is. A stack that ended
 * higher would be larger than was asked for.
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

	wf_spin_lock(&c->lock);
	err = take_locked(c, &s, &save_top, &number);
	wf_spin_unlock(&c->lock);
	if (err < 0)
		return err;
	if (c->guard_bytes > 0) {
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
	/* A TCB lies there, this slot's or another's. */
	char *kept =
		s->low +
		wf_align_down(c->tcb_lowest - wf_libc.static_tls_used, WF_PAGE);

	wf_os_forget(low, (size_t)(kept - low));
	wf_os_forget(wf_slot_save_top(s) - wf_slot_save_bytes(),
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

char *wf_slot_save_top(const struct wf_slot *s)
{
	return s->class != NULL ? note_of(s)->save_top : s->low;
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
		/* table.c fills the first anew. */
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
