/*
 * The runtime ends, and starts again with the next pthread_create. Calls that
 * the kernel refuses to a process with several threads need that, as unshare:
 *
 *     wf_wind_down();
 *     rc = wf_sys(SYS_unshare, CLONE_NEWUSER);
 */
#ifndef WEFT_BOOT_WIND_DOWN_H
#define WEFT_BOOT_WIND_DOWN_H

/*
 * If the caller is the process's first thread and no other thread of the
 * program's lives, weft's kernel threads end. The caller is on the process's
 * first kernel thread then, and the process is as before its first
 * pthread_create. Otherwise nothing happens, nor if something needs weft's
 * kernel threads (wind_down.c, W2). in_runtime 0; sleeps.
 */
void wf_wind_down(void);

#endif
