/* SPDX-License-Identifier: MIT */
/* Which calls about keys change the keyrings of the calling kernel thread. */
#ifndef WEFT_API_KEYRING_H
#define WEFT_API_KEYRING_H

#include "api/kernel_calls.h"

/* Of add_key, request_key and keyctl, with the arguments a. They may ask the
 * kernel which keyrings the caller has, and change nothing. */
enum wf_effect wf_keyring_add_effect(const long *a);
enum wf_effect wf_keyring_request_effect(const long *a);
enum wf_effect wf_keyring_control_effect(const long *a);

#endif
