/* SPDX-License-Identifier: MIT */
/*
 * Signal masks and alternate stacks of threads, and jumps that restore a mask.
 * weft keeps both for each thread (signal/mask.h) and sets them in the kernel
 * at a switch. A jump that restores a mask changes weft's mask first.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>

#include "api/api.h"
#include "api/signal.h"
#include "libc/fields.h"
#include "libc/real.h"
#include "signal/mask.h"
#include "signal/memory.h"

WF_API(int, pthread_sigmask, int how, const sigset_t *set, sigset_t *ret_old)
{
	uint64_t bits = 0;

	/* Natively a bad `set` faults here, and a bad `ret_old` is EFAULT. */
	if (set != NULL)
		memcpy(&bits, set, sizeof(bits));
	return -wf_mask_change(how, set != NULL ? &bits : NULL,
			       (uint64_t *)ret_old);
}

long wf_mask_syscall(int how, const uint64_t *set, uint64_t *ret_old,
		     size_t bytes)
{
	uint64_t bits;

	if (bytes != sizeof(bits))
		return -EINVAL;
	if (set != NULL && wf_memory_get(&bits, set, sizeof(bits)) < 0)
		return -EFAULT;
	return wf_mask_change(how, set != NULL ? &bits : NULL, ret_old);
}

WF_API(int, sigprocmask, int how, const sigset_t *set, sigset_t *ret_old)
{
	return wf_api_errno(-pthread_sigmask(how, set, ret_old));
}

WF_API(int, sigaltstack, const stack_t *ss, stack_t *ret_old)
{
	return wf_api_errno(wf_altstack_change(ss, ret_old));
}

/* --- the older calls: masks of one word, of one signal ------------------- */

static int change_bits(int how, unsigned int bits)
{
	uint64_t set = bits, old;

	wf_mask_change(how, &set, &old);
	return (int)old;
}

WF_API(int, sigblock, int bits)
{
	return change_bits(SIG_BLOCK, (unsigned int)bits);
}

WF_API(int, sigsetmask, int bits)
{
	return change_bits(SIG_SETMASK, (unsigned int)bits);
}

WF_API(int, siggetmask, void)
{
	return change_bits(SIG_BLOCK, 0);
}

static int change_one(int how, int sig)
{
	sigset_t set;

	sigemptyset(&set);
	if (sigaddset(&set, sig) < 0)
		return -1;
	return sigprocmask(how, &set, NULL);
}

WF_API(int, sighold, int sig)
{
	return change_one(SIG_BLOCK, sig);
}

WF_API(int, sigrelse, int sig)
{
	return change_one(SIG_UNBLOCK, sig);
}

/* --- jumps ---------------------------------------------------------------- */

static WF_NORETURN void jump(struct __jmp_buf_tag *env, int value)
{
	uint64_t set;

	if (env->libc_has_mask) {
		memcpy(&set, &env->libc_mask, sizeof(set));
		wf_mask_change(SIG_SETMASK, &set, NULL);
	}
	wf_real.siglongjmp(env, value);
	__builtin_unreachable();
}

WF_API(void, siglongjmp, struct __jmp_buf_tag env[1], int value)
{
	jump(env, value);
}

WF_API(void, longjmp, struct __jmp_buf_tag env[1], int value)
{
	jump(env, value);
}

WF_API(void, _longjmp, struct __jmp_buf_tag env[1], int value)
{
	jump(env, value);
}

/*
 * libc's function checks that the jump goes up the stack. For a thread on its
 * alternate stack it asks the kernel, which only knows the carrier's stack. So
 * weft's function does not check.
 */
WF_API(void, __longjmp_chk, struct __jmp_buf_tag env[1], int value)
{
	jump(env, value);
}
