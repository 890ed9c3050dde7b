# SPDX-License-Identifier: MIT
"""A thread waits in a system call while another changes its priority. The call
goes on. Runs without --preempt-every, which would interrupt the call."""

import pytest

# The thread waits in a system call that weft does not intercept and that the
# kernel never restarts.
POLL = """
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
static _Atomic int id;
static void *wait_in_poll(void *arg)
{
	id = gettid();
	return syscall(SYS_poll, NULL, 0, 300) == 0 ? arg : NULL;
}
int main(void)
{
	pthread_t thread;
	void *result;
	pthread_create(&thread, NULL, wait_in_poll, &thread);
	while (id == 0)
		usleep(1000);
	usleep(50000);
	if (setpriority(PRIO_PROCESS, id, 19) != 0 ||
	    getpriority(PRIO_PROCESS, id) != 19)
		return 1;
	pthread_join(thread, &result);
	return result == &thread ? 0 : 2;
}
"""


@pytest.mark.parametrize("vps", ["1", "2"])
def test_their_calls_are_not_cut_short(weft, compile_c, vps):
    program = compile_c("-pthread", source=POLL)
    for _ in range(3):
        assert weft("run", "--vps", vps, program).returncode == 0
