/* SPDX-License-Identifier: MIT */
/*
 * All stacks lie in one reserved range, aligned to their size. So a thread's
 * index gives its stack, and its stack pointer gives its descriptor. The lowest
 * page of each stack stays without access, as a guard.
 *
 * A thread register points to static TLS, beside libc's own thread descriptor.
 * On x86-64 it points to the descriptor, behind static TLS. Elsewhere it points
 * to a place above the descriptor and below static TLS, and on MIPS 0x7000
 * bytes further.
 *
 * libc makes both and clears its descriptor. It needs some facts there of a
 * thread that it has not made: the thread's number, on x86-64 the two guards,
 * and that there are several threads. It also needs a link in a list of
 * threads, from which fork() takes the caller, and the fact that the memory for
 * rseq is not in use.
 */
#include "memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fail.h"
#include "linuxthreads.h"

/* The begin of glibc's thread descriptor, which is an ABI. */
#if defined(__x86_64__)
struct head {
	void *tcb, *dtv, *self;
	int has_threads, unused;
	uintptr_t sysinfo, stack_guard, pointer_guard;
};
#elif defined(__aarch64__) || defined(__riscv) || defined(__mips64)
struct head {
	int has_threads;
};
#else
#error "the head of libc's thread descriptor is not known"
#endif

/* Distance from the result of _dl_allocate_tls() to the thread register. */
#ifdef __mips__
enum { TP_OFFSET = 0x7000 };
#else
enum { TP_OFFSET = 0 };
#endif

/* The place of a field in libc's descriptor, as libnptl_db reads it. */
struct field {
	uint32_t bits, nr, offset;
};

static char *stacks;

static void *(*allocate_tls)(void *memory);
static void (*free_tls)(void *tcb, bool with_descriptor);
static void (*init_ctype)(void);
static const struct field *tid_field, *list_field;
static const ptrdiff_t *rseq_offset; /* since glibc 2.35; else NULL */
static ptrdiff_t tp_offset;	     /* distance from libc's descriptor */

/* Casts from void * to a function are not C. */
static bool find(void *ret_pointer, const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	memcpy(ret_pointer, &found, sizeof(found));
	return found != NULL;
}

/* libc's pthread_t is the address of its descriptor. */
static bool find_tp_offset(void)
{
	pthread_t (*self)(void);
	void *found = dlsym(RTLD_NEXT, "pthread_self");

	memcpy(&self, &found, sizeof(found));
	if (found == NULL)
		return false;
	tp_offset = (char *)__builtin_thread_pointer() - (char *)self();
	return true;
}

int lt_memory_start(void)
{
	size_t size = (LT_MAX_THREADS + 1) * LT_STACK_BYTES;
	uintptr_t start;

	find(&rseq_offset, "__rseq_offset");
	if (!find_tp_offset() || !find(&allocate_tls, "_dl_allocate_tls") ||
	    !find(&free_tls, "_dl_deallocate_tls") ||
	    !find(&init_ctype, "__ctype_init") ||
	    !find(&tid_field, "_thread_db_pthread_tid") ||
	    !find(&list_field, "_thread_db_pthread_list"))
		return ENOSYS;
	stacks = mmap(NULL, size, PROT_NONE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stacks == MAP_FAILED)
		return EAGAIN;
	start = (uintptr_t)stacks + LT_STACK_BYTES - 1;
	stacks += (start & ~(LT_STACK_BYTES - 1)) - (uintptr_t)stacks;
	return 0;
}

static char *stack_of(unsigned int index)
{
	return stacks + index * LT_STACK_BYTES;
}

static char *descriptor_of(void *tcb)
{
	return (char *)tcb - tp_offset;
}

/* Copies the values that libc's threads inherit from their creator. */
static void inherit(struct head *head, void *tcb)
{
	const struct head *mine =
		(void *)descriptor_of(__builtin_thread_pointer());

#ifdef __x86_64__
	head->tcb = head->self = tcb;
	head->stack_guard = mine->stack_guard;
	head->pointer_guard = mine->pointer_guard;
#else
	(void)tcb;
#endif
	head->has_threads = mine->has_threads;
}

static void *new_tcb(void)
{
	char *allocated = allocate_tls(NULL);
	char *tcb = allocated + TP_OFFSET;
	void **list;
	int no_cpu = -1;

	if (allocated == NULL)
		return NULL;
	list = (void **)(descriptor_of(tcb) + list_field->offset);
	list[0] = list[1] = list; /* the thread is in no list */
	inherit((struct head *)descriptor_of(tcb), tcb);
	if (rseq_offset != NULL)
		memcpy(tcb + *rseq_offset + sizeof(int), &no_cpu,
		       sizeof(no_cpu));
	return tcb;
}

struct lt_thread *lt_memory_new(unsigned int index)
{
	char *stack = stack_of(index);
	size_t guard = (size_t)sysconf(_SC_PAGESIZE);
	struct lt_thread *thread;

	if (mmap(stack + guard, LT_STACK_BYTES - guard, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_STACK, -1,
		 0) == MAP_FAILED)
		return NULL;
	thread = lt_descriptor_of_stack((uintptr_t)stack);
	thread->tcb = new_tcb();
	if (thread->tcb == NULL) {
		lt_memory_free(index);
		return NULL;
	}
	return thread;
}

void lt_memory_free(unsigned int index)
{
	char *stack = stack_of(index);
	struct lt_thread *thread = lt_descriptor_of_stack((uintptr_t)stack);

	if (thread->tcb != NULL)
		free_tls((char *)thread->tcb - TP_OFFSET, true);
	/* Returns the memory and keeps the addresses. */
	if (mmap(stack, LT_STACK_BYTES, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
		 0) == MAP_FAILED)
		lt_fail("cannot unmap a stack");
}

pid_t *lt_memory_tid(struct lt_thread *thread)
{
	return (pid_t *)(descriptor_of(thread->tcb) + tid_field->offset);
}

void lt_memory_begin_thread(void)
{
	init_ctype();
}
