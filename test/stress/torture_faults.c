/* SPDX-License-Identifier: MIT */
/*
 * Acts with stacks: those of the program, alternate ones, and faults that are
 * handled on these.
 */
#include "torture.h"

#include <setjmp.h>
#include <sys/mman.h>

#include "signalling.h"

#define STACK_BYTES (128UL << 10)
#define ALT_BYTES (64UL << 10)

static __thread sigjmp_buf after_fault;
static __thread struct fault {
	char *low, *high; /* bounds in which the fault must lie */
	char *alternate;
	bool mends; /* the handler maps the page; else it jumps */
	volatile int nr;
} * fault;

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static char *map(size_t bytes, int protection)
{
	char *memory = mmap(NULL, bytes, protection,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	char *at = info->si_addr, *here = (char *)&sig;

	CHECK(fault != NULL);
	CHECK(at >= fault->low && at < fault->high);
	CHECK(here >= fault->alternate && here < fault->alternate + ALT_BYTES);
	fault->nr++;
	if (!fault->mends)
		siglongjmp(after_fault, 1);
	CHECK_EQ(mprotect(fault->low, (size_t)(fault->high - fault->low),
			  PROT_READ | PROT_WRITE),
		 0);
}

/* --- faults in memory ----------------------------------------------------- */

static void touch(uint64_t *random, struct fault *f)
{
	volatile char *at = f->low + random_below(random, f->high - f->low);

	CHECK_EQ(mprotect(f->low, (size_t)(f->high - f->low), PROT_NONE), 0);
	f->mends = random_below(random, 2) == 0;
	f->nr = 0;
	if (sigsetjmp(after_fault, 1) == 0) {
		*at = 'f';
		CHECK(f->mends);
		CHECK_EQ(*at, 'f');
	} else {
		CHECK(!f->mends);
	}
	CHECK_EQ(f->nr, 1);
}

/* --- stacks that are too small -------------------------------------------- */

/*
 * Returns the depth it reached. The compiler must believe that it recurses for
 * ever.
 */
static __attribute__((noinline)) long descend(volatile char *above, long nr)
{
	volatile char frame[256];

	frame[0] = (char)nr;
	if (above != NULL && above[0] == 127 && nr < 0)
		return nr;
	return descend(frame, nr + 1) + frame[0];
}

static void overflow(struct fault *f, char *guard)
{
	struct fault of_stack = { .low = guard,
				  .high = guard + page_bytes(),
				  .alternate = f->alternate };

	fault = &of_stack;
	if (sigsetjmp(after_fault, 1) == 0)
		CHECK(descend(NULL, 0) == -1);
	CHECK_EQ(of_stack.nr, 1);
	fault = f;
}

struct own_stack {
	char *guard, *low;
	uint64_t random;
};

static void check_stack(const struct own_stack *o)
{
	char *here = __builtin_frame_address(0);
	pthread_attr_t attr;
	void *low;
	size_t bytes;

	CHECK(here >= o->low && here < o->low + STACK_BYTES);
	CHECK_EQ(pthread_getattr_np(pthread_self(), &attr), 0);
	CHECK_EQ(pthread_attr_getstack(&attr, &low, &bytes), 0);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
	CHECK((char *)low == o->low);
	CHECK_EQ(bytes, STACK_BYTES);
}

static void set_alternate(char *memory, int flags)
{
	stack_t new = { .ss_sp = memory,
			.ss_flags = flags,
			.ss_size = ALT_BYTES },
		old;

	CHECK_EQ(sigaltstack(&new, &old), 0);
	CHECK_EQ(old.ss_flags & SS_ONSTACK, 0);
}

/* Near the end of the stack only faults are handled. */
static void *fault_often(void *arg)
{
	struct own_stack *o = arg;
	struct fault f = { .alternate = map(ALT_BYTES, PROT_READ | PROT_WRITE),
			   .low = map(page_bytes(), PROT_NONE) };
	sigset_t set;

	sigfillset(&set);
	sigdelset(&set, SIGSEGV);
	CHECK_EQ(pthread_sigmask(SIG_SETMASK, &set, NULL), 0);
	f.high = f.low + page_bytes();
	check_stack(o);
	set_alternate(f.alternate, 0);
	fault = &f;
	for (long i = 1 + random_below(&o->random, 6); i > 0; i--) {
		if (random_below(&o->random, 2) == 0)
			overflow(&f, o->guard);
		else
			touch(&o->random, &f);
		stress_disturb(&o->random);
	}
	fault = NULL;
	set_alternate(NULL, SS_DISABLE);
	CHECK_EQ(munmap(f.alternate, ALT_BYTES), 0);
	CHECK_EQ(munmap(f.low, page_bytes()), 0);
	check_stack(o);
	return arg;
}

/* --- stacks that callers supply ------------------------------------------- */

static pthread_t start_on(struct own_stack *o, void *(*start)(void *))
{
	pthread_attr_t attr;
	pthread_t thread;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstack(&attr, o->low, STACK_BYTES), 0);
	CHECK_EQ(pthread_create(&thread, &attr, start, o), 0);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
	return thread;
}

/*
 * The thread's stack is overwritten, then unmapped, once the thread is joined.
 */
void vfork_on_stack(uint64_t *random)
{
	struct own_stack o = { .random = random_next(random) };

	o.guard = map(page_bytes() + STACK_BYTES, PROT_READ | PROT_WRITE);
	o.low = o.guard + page_bytes();
	CHECK_EQ(mprotect(o.guard, page_bytes(), PROT_NONE), 0);
	for (int i = 0; i < 2; i++) {
		CHECK(thread_join(start_on(&o, fault_often)) == &o);
		memset(o.low, 0xee, STACK_BYTES);
	}
	CHECK_EQ(munmap(o.guard, page_bytes() + STACK_BYTES), 0);
}

void torture_faults_begin(void)
{
	handle(SIGSEGV, on_fault, SA_ONSTACK);
}
