/* SPDX-License-Identifier: MIT */
/*
 * Small critical sections in user code that a preemption may hit at every
 * instruction: a ticket lock, a sequence lock, a lock-free stack, and
 * registers, flags and a red zone that only the program uses.
 */
#include "stress.h"

#define NR_THREADS 6
#define NR_NODES 64

static long nr_rounds;
static _Atomic long nr_done;

struct ticket_lock {
	uint32_t next;
	uint32_t serving;
};

static struct ticket_lock ticket;
static long pair[2];

static void lock_ticket(void)
{
	uint32_t mine = __atomic_fetch_add(&ticket.next, 1, __ATOMIC_SEQ_CST);

	while (__atomic_load_n(&ticket.serving, __ATOMIC_ACQUIRE) != mine)
		sched_yield();
}

static void use_ticket_lock(void)
{
	lock_ticket();
	CHECK_EQ(pair[0], pair[1]);
	pair[0]++;
	pair[1]++;
	__atomic_fetch_add(&ticket.serving, 1, __ATOMIC_RELEASE);
}

static uint32_t sequence;
static long sequenced[2];

static void write_sequenced(void)
{
	uint32_t even = __atomic_load_n(&sequence, __ATOMIC_RELAXED) & ~1u;

	if (!__atomic_compare_exchange_n(&sequence, &even, even + 1, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return;
	for (int i = 0; i < 2; i++)
		__atomic_fetch_add(&sequenced[i], 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&sequence, even + 2, __ATOMIC_SEQ_CST);
}

static void read_sequenced(void)
{
	long seen[2];
	uint32_t before, after;

	do {
		before = __atomic_load_n(&sequence, __ATOMIC_SEQ_CST);
		for (int i = 0; i < 2; i++)
			seen[i] = __atomic_load_n(&sequenced[i],
						  __ATOMIC_SEQ_CST);
		after = __atomic_load_n(&sequence, __ATOMIC_SEQ_CST);
		if (before & 1)
			sched_yield();
	} while (before != after || before & 1);
	CHECK_EQ(seen[0], seen[1]);
}

/*
 * A stack of node numbers. The upper half of its head counts the pushes, so the
 * exchange of a thread that was preempted after its load fails.
 */
static uint64_t head;
static uint32_t following[NR_NODES + 1];
static _Atomic int is_out[NR_NODES + 1];

static void push(uint32_t node)
{
	uint64_t seen = __atomic_load_n(&head, __ATOMIC_SEQ_CST);
	uint64_t wanted;

	do {
		__atomic_store_n(&following[node], (uint32_t)seen,
				 __ATOMIC_SEQ_CST);
		wanted = ((seen >> 32) + 1) << 32 | node;
	} while (!__atomic_compare_exchange_n(&head, &seen, wanted, true,
					      __ATOMIC_SEQ_CST,
					      __ATOMIC_SEQ_CST));
}

static uint32_t pop(void)
{
	uint64_t seen = __atomic_load_n(&head, __ATOMIC_SEQ_CST);
	uint64_t wanted;

	do {
		if ((uint32_t)seen == 0)
			return 0;
		wanted = (seen >> 32 << 32) |
			 __atomic_load_n(&following[(uint32_t)seen],
					 __ATOMIC_SEQ_CST);
	} while (!__atomic_compare_exchange_n(&head, &seen, wanted, true,
					      __ATOMIC_SEQ_CST,
					      __ATOMIC_SEQ_CST));
	return (uint32_t)seen;
}

static void use_stack(void)
{
	uint32_t node = pop();

	if (node == 0)
		return;
	CHECK_EQ(is_out[node]++, 0);
	CHECK_EQ(--is_out[node], 0);
	push(node);
}

/*
 * Sums 1 to n in a register and in the word below the stack pointer. Each other
 * register holds a value, which only a correct preemption restores. Returns the
 * register's sum minus the word's.
 */
static long check_registers(long n)
{
#if defined(__x86_64__)
	long sum, below;

	__asm__ volatile("xor %%eax, %%eax\n\t"
			 "movq $0, -64(%%rsp)\n\t"
			 "mov $0x1111, %%r8\n\t"
			 "mov $0x2222, %%r9\n\t"
			 "mov $0x3333, %%r10\n\t"
			 "movq %%r8, %%xmm7\n\t"
			 "1:\n\t"
			 "add %%rcx, %%rax\n\t"
			 "add %%rcx, -64(%%rsp)\n\t"
			 "add $1, %%r8\n\t"
			 "sub $1, %%r8\n\t"
			 "stc\n\t"
			 "adc $-1, %%r9\n\t"
			 "dec %%rcx\n\t"
			 "jnz 1b\n\t"
			 "mov -64(%%rsp), %%rdx\n\t"
			 "movq %%xmm7, %%rcx\n\t"
			 "sub %%rcx, %%r8\n\t"
			 "sub $0x2222, %%r9\n\t"
			 "sub $0x3333, %%r10\n\t"
			 "or %%r9, %%r8\n\t"
			 "or %%r10, %%r8\n\t"
			 "add %%r8, %%rdx\n\t"
			 : "=&a"(sum), "=&d"(below), "+c"(n)
			 :
			 : "r8", "r9", "r10", "xmm7", "cc", "memory");
	return sum - below;
#else
	return n - n;
#endif
}

static void *work(void *arg)
{
	uint64_t random = random_start((intptr_t)arg);
	int64_t start_ns = now_ns();

	for (long i = 0; stress_goes_on(i, nr_rounds, start_ns); i++) {
		use_ticket_lock();
		nr_done++;
		for (int n = 0; n < 50; n++) {
			write_sequenced();
			read_sequenced();
			use_stack();
		}
		CHECK_EQ(check_registers(1 + random_below(&random, 5000)), 0);
		if (random_below(&random, 50) == 0)
			stress_disturb(&random);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[NR_THREADS];
	int nr_left = 0;

	stress_begin(argc, argv);
	nr_rounds = stress_scale(5000);
	for (uint32_t node = 1; node <= NR_NODES; node++)
		push(node);
	threads_start_numbered(threads, NR_THREADS, work);
	threads_join(threads, NR_THREADS);
	CHECK_EQ(pair[0], nr_done);
	CHECK_EQ(pair[1], pair[0]);
	while (pop() != 0)
		nr_left++;
	CHECK_EQ(nr_left, NR_NODES);
	return stress_end();
}
