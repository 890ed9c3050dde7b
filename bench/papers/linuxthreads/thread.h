/* What a new thread's process runs. */
#ifndef LT_THREAD_H
#define LT_THREAD_H

int lt_thread_main(void *thread);

#endif
