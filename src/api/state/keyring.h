/* SPDX-License-Identifier: MIT */
/*
 * Decides whether a call about keys changes the keyrings of the calling kernel
 * thread. The rows of api/state/kernel_calls.c use it:
 *
 *     [SYS_add_key] = { .effect = wf_keyring_add_effect, ... },
 */
#ifndef WEFT_API_STATE_KEYRING_H
#define WEFT_API_STATE_KEYRING_H

#include "api/state/kernel_calls.h"

/*
 * The effect of add_key, request_key or keyctl with the arguments a. The
 * functions may ask the kernel for the caller's keyrings. They change nothing.
 */
enum wf_effect wf_keyring_add_effect(const long *a);
enum wf_effect wf_keyring_request_effect(const long *a);
enum wf_effect wf_keyring_control_effect(const long *a);

#endif
