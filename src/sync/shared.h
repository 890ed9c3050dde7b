/*
 * Whose a process-shared mutex is, beyond what libc notes in it. Called before
 * and after each of libc's own functions on such a mutex:
 *
 *     bool was_mine = wf_shared_begin(m);
 *     int rc = wf_real.pthread_mutex_trylock(m);
 *
 *     wf_shared_end(m, was_mine || rc == 0 || rc == EOWNERDEAD);
 *
 * It also ends the robust mutexes of a thread that ends. All may be called by
 * every thread with in_runtime 0; they do not block.
 */
#ifndef WEFT_SYNC_SHARED_H
#define WEFT_SYNC_SHARED_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct wf_thread;

/* libc's functions may take m for the caller's, although it is a thread's of
 * another process with the same number. */
bool wf_shared_is_alien(const pthread_mutex_t *m);

/* Makes m what libc expects if the caller holds it, and says whether. */
bool wf_shared_begin(pthread_mutex_t *m);
/* is_held: the caller holds m. Else m is not touched, it may be gone. */
void wf_shared_end(pthread_mutex_t *m, bool is_held);

/*
 * Robust and the caller a thread that the kernel does not know: these take the
 * place of libc's functions. Results are theirs, not negated.
 */
bool wf_shared_is_ours(const pthread_mutex_t *m);
int wf_shared_trylock(pthread_mutex_t *m);
int wf_shared_unlock(pthread_mutex_t *m);

/* The caller ends: its robust mutexes get another owner or none. */
void wf_shared_thread_end(struct wf_thread *t);

/* The calling kernel thread, which lives as long as the process, answers for
 * the robust mutexes of all. */
void wf_shared_answer(void);
void wf_shared_fork_child(void);

#endif
