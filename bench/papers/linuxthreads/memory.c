/*
 * All stacks lie in one reserved range, aligned to their size, so that a
 * thread's index gives its stack and its stack pointer its descriptor. The
 * lowest page of each stays without access, as a guard.
 *
 * A thread register points to libc's own thread descriptor, behind static TLS.
 * libc makes both and clears its descriptor; what it needs there of a thread
 * that it has not made is the thread's number, the two guards, a link in a list
 * of threads, from which fork() takes the caller, and that the memory for rseq
 * is not in use.
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

#ifndef __x86_64__
#error "the head of libc's thread descriptor is known for x86-64 only"
#endif

/* The head of a thread descriptor of glibc's, which is an ABI. */
struct tcb_head {
	void *tcb, *dtv, *self;
	int has_threads, unused;
	uintptr_t sysinfo, stack_guard, pointer_guard;
};

/* The place of a field in libc's descriptor, as libnptl_db reads it. */
struct field {
	uint32_t bits, nr, offset;
};

static char *stacks;

static void *(*allocate_tls)(void *memory);
static void (*free_tls)(void *tcb, bool with_descriptor);
static void (*init_ctype)(void);
static const struct field *tid_field, *list_field;
static const ptrdiff_t *rseq_offset; /* since glibc 2.35, else NULL */

/* Casts from void * to a function are not C. */
static bool find(void *ret_pointer, const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	memcpy(ret_pointer, &found, sizeof(found));
	return found != NULL;
}

int lt_memory_start(void)
{
	size_t size = (LT_MAX_THREADS + 1) * LT_STACK_BYTES;
	uintptr_t start;

	find(&rseq_offset, "__rseq_offset");
	if (!find(&allocate_tls, "_dl_allocate_tls") ||
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

static void *new_tcb(void)
{
	const struct tcb_head *mine = __builtin_thread_pointer();
	char *tcb = allocate_tls(NULL);
	struct tcb_head *head = (struct tcb_head *)tcb;
	void **list;
	int no_cpu = -1;

	if (tcb == NULL)
		return NULL;
	list = (void **)(tcb + list_field->offset);
	list[0] = list[1] = list; /* in no list */
	head->tcb = tcb;
	head->self = tcb;
	head->has_threads = 1;
	head->stack_guard = mine->stack_guard;
	head->pointer_guard = mine->pointer_guard;
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
		free_tls(thread->tcb, true);
	/* Gives the memory back and keeps the addresses. */
	if (mmap(stack, LT_STACK_BYTES, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
		 0) == MAP_FAILED)
		lt_fail("cannot unmap a stack");
}

pid_t *lt_memory_tid(struct lt_thread *thread)
{
	return (pid_t *)((char *)thread->tcb + tid_field->offset);
}

void lt_memory_begin_thread(void)
{
	init_ctype();
}
