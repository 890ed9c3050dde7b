/* SPDX-License-Identifier: MIT */
/*
 * A module with thread-local variables, built several times: as it is (general
 * dynamic), and with TLS_MODEL "initial-exec". The variables of the latter lie
 * in every thread's static TLS, also of threads that are older than the module.
 */
#ifdef TLS_MODEL
#define THREAD_LOCAL __thread __attribute__((tls_model(TLS_MODEL)))
#define FILLER_BYTES 64
#else
#define THREAD_LOCAL __thread
#define FILLER_BYTES 3000
#endif

static THREAD_LOCAL int counter = 5;
static THREAD_LOCAL char filler[FILLER_BYTES] = { 1 };
static THREAD_LOCAL int zero;

/* 5 at a thread's first call, then 6 and so on; -1 if anything is wrong. */
int tls_next(void)
{
	if (filler[0] != 1 || filler[FILLER_BYTES - 1] != 0)
		return -1;
	if (zero++ != counter - 5)
		return -1;
	return counter++;
}
