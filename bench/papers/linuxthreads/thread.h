/* SPDX-License-Identifier: MIT */
/* The main function of a new thread's process. */
#ifndef LT_THREAD_H
#define LT_THREAD_H

int lt_thread_main(void *thread);

#endif
