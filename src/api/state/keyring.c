/* SPDX-License-Identifier: MIT */
/*
 * Keyrings are part of a kernel thread's credentials. The kernel makes one when
 * a call first needs it, for the calling kernel thread alone:
 *
 * - the thread keyring: a new kernel thread has an empty one, or none;
 * - the process keyring: kernel threads that are created later have it, too;
 * - the session keyring, if the process has only the user's default one.
 *
 * Shared carriers have the keyrings that the process had before the runtime
 * started, and no thread keyring. So a call that would make a keyring, or that
 * uses a thread keyring, needs a kernel thread of its own. A call that uses a
 * keyring of all kernel threads does not.
 */
#include "api/state/keyring.h"

#include <linux/keyctl.h>
#include <sys/syscall.h>

#include "os/sys.h"

/* An operation of keyctl; bit i of a field stands for argument i. */
struct operation {
	uint8_t uses;	 /* arguments with a keyring that has to exist */
	uint8_t creates; /* arguments with a keyring that may be made */
	bool is_change;	 /* changes the caller's credentials in any case */
};

enum { A1 = 1 << 1, A2 = 1 << 2, A3 = 1 << 3, A4 = 1 << 4 };

/* Indexed by operation; from security/keys/keyctl.c of the kernel. */
static const struct operation operations[] = {
	[KEYCTL_GET_KEYRING_ID] = { .uses = A1 }, /* A2 not 0: creates */
	[KEYCTL_JOIN_SESSION_KEYRING] = { .is_change = true },
	[KEYCTL_UPDATE] = { .uses = A1 },
	[KEYCTL_REVOKE] = { .uses = A1 },
	[KEYCTL_CHOWN] = { .creates = A1 },
	[KEYCTL_SETPERM] = { .creates = A1 },
	[KEYCTL_DESCRIBE] = { .uses = A1 },
	[KEYCTL_CLEAR] = { .creates = A1 },
	[KEYCTL_LINK] = { .creates = A1 | A2 },
	[KEYCTL_UNLINK] = { .uses = A1 | A2 },
	[KEYCTL_SEARCH] = { .uses = A1, .creates = A4 },
	[KEYCTL_READ] = { .uses = A1 },
	[KEYCTL_INSTANTIATE] = { .creates = A4 },
	[KEYCTL_NEGATE] = { .creates = A3 },
	[KEYCTL_SET_REQKEY_KEYRING] = { .is_change = true },
	[KEYCTL_SET_TIMEOUT] = { .creates = A1 },
	[KEYCTL_ASSUME_AUTHORITY] = { .is_change = true },
	[KEYCTL_GET_SECURITY] = { .uses = A1 },
	[KEYCTL_REJECT] = { .creates = A4 },
	[KEYCTL_INSTANTIATE_IOV] = { .creates = A4 },
	[KEYCTL_INVALIDATE] = { .uses = A1 },
	[KEYCTL_GET_PERSISTENT] = { .creates = A2 },
	[KEYCTL_RESTRICT_KEYRING] = { .uses = A1 },
	[KEYCTL_MOVE] = { .uses = A2, .creates = A1 | A3 },
	[KEYCTL_WATCH_KEY] = { .creates = A1 },
};

/* The serial number of the caller's keyring; less than 0: there is none. */
static long find(int ring)
{
	return wf_sys(SYS_keyctl, KEYCTL_GET_KEYRING_ID, ring, 0);
}

static bool is_changed_by_use(int ring)
{
	return ring == KEY_SPEC_THREAD_KEYRING && find(ring) >= 0;
}

static bool is_changed_by_creation(int ring)
{
	long session;

	switch (ring) {
	case KEY_SPEC_THREAD_KEYRING:
		return true;
	case KEY_SPEC_PROCESS_KEYRING:
		return find(ring) < 0;
	case KEY_SPEC_SESSION_KEYRING:
		session = find(ring);
		return session < 0 ||
		       session == find(KEY_SPEC_USER_SESSION_KEYRING);
	default:
		return false;
	}
}

static enum wf_effect effect_of(bool changes)
{
	return changes ? WF_EFFECT_RENEWED : WF_EFFECT_NONE;
}

enum wf_effect wf_keyring_add_effect(const long *a)
{
	return effect_of(is_changed_by_creation((int)a[4]));
}

enum wf_effect wf_keyring_request_effect(const long *a)
{
	return effect_of(is_changed_by_creation((int)a[3]));
}

enum wf_effect wf_keyring_control_effect(const long *a)
{
	const long nr = sizeof(operations) / sizeof(operations[0]);
	struct operation o = { 0 };
	bool changes;

	if (a[0] >= 0 && a[0] < nr)
		o = operations[a[0]];
	if (a[0] == KEYCTL_GET_KEYRING_ID && (int)a[2] != 0)
		o = (struct operation){ .creates = A1 };
	if (a[0] == KEYCTL_SET_REQKEY_KEYRING)
		o.is_change = (int)a[1] != KEY_REQKEY_DEFL_NO_CHANGE;
	changes = o.is_change;
	for (int i = 1; i < 5 && !changes; i++)
		changes = ((o.uses >> i & 1) != 0 &&
			   is_changed_by_use((int)a[i])) ||
			  ((o.creates >> i & 1) != 0 &&
			   is_changed_by_creation((int)a[i]));
	return effect_of(changes);
}
