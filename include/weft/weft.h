/*
 * weft: POSIX threads on lightweight user-level threads.
 *
 * A program needs nothing from this header to run on weft: `weft run PROGRAM`
 * takes it as it is. The header is for programs that want to know:
 *
 *     #include <weft/weft.h>
 *
 *     if (weft_is_active())
 *             printf("on weft %s\n", weft_version());
 *
 * Link with `pkg-config --libs weft`; a program so linked runs on weft without
 * the weft command and takes its options from the WEFT_* variables.
 */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. */
#define WEFT_VERSION "0.1.0"

/*
 * The version of the library that runs, as "MAJOR.MINOR.PATCH". Never fails,
 * never blocks, may be called in a signal handler. The string is constant.
 */
const char *weft_version(void);

/*
 * 1 once weft runs this process's threads, which is from the first
 * pthread_create on; 0 before, and in a process where it found that it cannot.
 * Never blocks, may be called in a signal handler.
 */
int weft_is_active(void);

#ifdef __cplusplus
}
#endif

#endif
