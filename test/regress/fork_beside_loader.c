/* SPDX-License-Identifier: MIT */
/*
 * A fork while another thread walks ld.so's list of objects. libc does not
 * release that list's lock in the child. A child that made a thread waited for
 * the lock without end.
 */
#include <link.h>
#include <stdio.h>
#include <unistd.h>

#include "child.h"
#include "threading.h"

static _Atomic int is_inside, may_leave;

static int stay(struct dl_phdr_info *info, size_t size, void *arg)
{
	is_inside = 1;
	while (!may_leave)
		sleep_ms(1);
	return 1;
}

static void *go_through(void *arg)
{
	CHECK_EQ(dl_iterate_phdr(stay, NULL), 1);
	return arg;
}

int main(void)
{
	pthread_t thread = thread_start(go_through, NULL);

	while (!is_inside)
		sleep_ms(1);
	CHECK_EQ(child_exit_status(have_threads), 0);
	may_leave = 1;
	thread_join(thread);
	puts("the child had threads");
	return 0;
}
