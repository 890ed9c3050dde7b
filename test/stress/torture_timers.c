/* SPDX-License-Identifier: MIT */
/*
 * Acts with timers that send signals or start threads, and with threads that
 * take such signals.
 */
#include "torture.h"

#include <poll.h>
#include <stdatomic.h>
#include <sys/signalfd.h>

#include "signalling.h"

#define TIMER_SIGNAL (SIGRTMIN + 5) /* all threads block it */
#define NR_SLOTS 64
#define SLOT_BITS 6

/* --- what becomes of expirations ------------------------------------------ */

/*
 * Each slot counts one timer's expirations; an old timer's may come late or
 * never.
 */
static struct {
	_Atomic int is_used;
	_Atomic uint64_t count; /* turn << 32 | how many expired in it */
} slots[NR_SLOTS];

static int get_slot(void)
{
	for (int i = 0;; i = (i + 1) % NR_SLOTS) {
		int is_free = 0;

		uint64_t turn;

		if (!atomic_compare_exchange_strong(&slots[i].is_used, &is_free,
						    1))
			continue;
		turn = (slots[i].count >> 32) + 1;
		slots[i].count = turn << 32;
		return (int)turn << SLOT_BITS | i;
	}
}

static void put_slot(int ticket)
{
	slots[ticket % NR_SLOTS].is_used = 0;
}

static int nr_expired(int ticket)
{
	return (int)slots[ticket % NR_SLOTS].count;
}

static void count_expired(int ticket, int nr)
{
	int i = ticket % NR_SLOTS;
	uint64_t old = slots[i].count;

	CHECK(i >= 0 && nr > 0);
	while ((int)(old >> 32) == ticket >> SLOT_BITS &&
	       !atomic_compare_exchange_weak(&slots[i].count, &old,
					     old + (uint64_t)nr))
		continue;
}

/* --- signals, taken in each way ------------------------------------------- */

static void take_by_wait(uint64_t *random)
{
	struct timespec soon = { 0, random_below(random, 500000) };
	sigset_t set = set_of(TIMER_SIGNAL);
	siginfo_t info;

	if (sigtimedwait(&set, &info, &soon) < 0) {
		CHECK(errno == EAGAIN || errno == EINTR);
		return;
	}
	CHECK_EQ(info.si_signo, TIMER_SIGNAL);
	CHECK_EQ(info.si_code, SI_TIMER);
	count_expired(info.si_value.sival_int, 1 + info.si_overrun);
}

static void take_by_signalfd(uint64_t *random)
{
	sigset_t set = set_of(TIMER_SIGNAL);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	struct pollfd pollfd = { fd, POLLIN, 0 };
	struct signalfd_siginfo infos[3];
	ssize_t n;

	CHECK(fd >= 0);
	if (poll(&pollfd, 1, (int)random_below(random, 2)) < 0)
		CHECK_EQ(errno, EINTR);
	n = read(fd, infos, sizeof(infos));
	if (n < 0)
		CHECK(errno == EAGAIN || errno == EINTR);
	for (ssize_t i = 0; i < n / (ssize_t)sizeof(infos[0]); i++) {
		CHECK_EQ(infos[i].ssi_signo, TIMER_SIGNAL);
		CHECK_EQ(infos[i].ssi_code, SI_TIMER);
		count_expired(infos[i].ssi_int, 1 + (int)infos[i].ssi_overrun);
	}
	CHECK_EQ(close(fd), 0);
}

static struct itimerspec any_time(uint64_t *random, bool is_periodic)
{
	struct itimerspec spec = { .it_value.tv_nsec =
					   1 + random_below(random, 200000) };

	if (is_periodic)
		spec.it_interval.tv_nsec = 20000 + random_below(random, 200000);
	return spec;
}

/* Takes one expiration of a one-shot timer, or some of a periodic timer. */
void take_ticks(uint64_t *random)
{
	bool is_periodic = random_below(random, 2) == 0;
	int ticket = get_slot(), least = is_periodic ? 3 : 1;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
				  .sigev_signo = TIMER_SIGNAL,
				  .sigev_value.sival_int = ticket };
	struct itimerspec spec = any_time(random, is_periodic);
	timer_t timer;

	CHECK_EQ(timer_create(random_below(random, 2) ? CLOCK_MONOTONIC :
							CLOCK_REALTIME,
			      &event, &timer),
		 0);
	CHECK_EQ(timer_settime(timer, 0, &spec, NULL), 0);
	while (nr_expired(ticket) < least) {
		if (random_below(random, 2) == 0)
			take_by_wait(random);
		else
			take_by_signalfd(random);
	}
	CHECK_EQ(timer_delete(timer), 0);
	if (!is_periodic)
		CHECK_EQ(nr_expired(ticket), 1);
	put_slot(ticket);
}

/* --- threads that timers start -------------------------------------------- */

static void expire(union sigval value)
{
	volatile char below[1000];

	below[0] = below[999] = 1;
	CHECK(pthread_equal(pthread_self(), pthread_self()));
	count_expired(value.sival_int, below[0]);
}

/*
 * The timer expires at least as often as asked for. libc finds a timer by its
 * memory, and may take a deleted timer's last expiration for the next timer's.
 */
void start_by_timer(uint64_t *random)
{
	bool is_periodic = random_below(random, 3) == 0;
	int ticket = get_slot(), least = is_periodic ? 3 : 1;
	struct itimerspec spec = any_time(random, is_periodic);
	struct sigevent event = { .sigev_notify = SIGEV_THREAD,
				  .sigev_notify_function = expire,
				  .sigev_value.sival_int = ticket };
	pthread_attr_t attr;
	timer_t timer;

	CHECK_EQ(pthread_attr_init(&attr), 0);
	CHECK_EQ(pthread_attr_setstacksize(&attr, 64UL << 10), 0);
	if (random_below(random, 2) == 0)
		event.sigev_notify_attributes = &attr;
	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	CHECK_EQ(pthread_attr_destroy(&attr), 0);
	CHECK_EQ(timer_settime(timer, 0, &spec, NULL), 0);
	while (nr_expired(ticket) < least)
		usleep(100);
	CHECK_EQ(timer_delete(timer), 0);
	put_slot(ticket);
}

void torture_timers_begin(void)
{
	block(TIMER_SIGNAL);
}
