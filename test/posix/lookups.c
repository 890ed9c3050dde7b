/* SPDX-License-Identifier: MIT */
/*
 * Modules that libc itself loads while threads exist: name services, character
 * sets; and the state that libc keeps for them per thread.
 */
#include <iconv.h>
#include <netdb.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#include "check.h"
#include "threading.h"

#define NR_THREADS 300

static void *resolve_localhost(void *arg)
{
	struct addrinfo hints = { .ai_family = AF_INET,
				  .ai_socktype = SOCK_STREAM };

	for (int i = 0; i < 3; i++) {
		struct addrinfo *found;

		CHECK_EQ(getaddrinfo("localhost", "80", &hints, &found), 0);
		CHECK_EQ(found->ai_family, AF_INET);
		freeaddrinfo(found);
	}
	return arg;
}

TEST(names_of_hosts)
{
	static pthread_t threads[NR_THREADS];

	threads_start(threads, NR_THREADS, resolve_localhost, NULL);
	threads_join(threads, NR_THREADS);
}

static const char *const charsets[] = { "ISO-8859-1", "UTF-16LE", "KOI8-R",
					"CP1252", "ISO-8859-15" };

static void *convert(void *arg)
{
	const char *charset = charsets[(intptr_t)arg % 5];

	for (int i = 0; i < 5; i++) {
		char in[] = "weft and warp";
		char out[64], back[64];
		char *from = in, *to = out;
		size_t nr_in = sizeof(in), nr_out = sizeof(out);
		iconv_t there = iconv_open(charset, "UTF-8");
		iconv_t again = iconv_open("UTF-8", charset);

		CHECK(there != (iconv_t)-1 && again != (iconv_t)-1);
		CHECK_EQ(iconv(there, &from, &nr_in, &to, &nr_out), 0);
		from = out;
		nr_in = (size_t)(to - out);
		to = back;
		nr_out = sizeof(back);
		CHECK_EQ(iconv(again, &from, &nr_in, &to, &nr_out), 0);
		CHECK(strcmp(in, back) == 0);
		CHECK_EQ(iconv_close(there), 0);
		CHECK_EQ(iconv_close(again), 0);
	}
	return NULL;
}

TEST(character_sets)
{
	static pthread_t threads[NR_THREADS];

	threads_start_numbered(threads, NR_THREADS, convert);
	threads_join(threads, NR_THREADS);
}

static void *look_up_user(void *arg)
{
	for (int i = 0; i < 5; i++) {
		struct passwd entry, *found = NULL;
		char buffer[2048];

		CHECK_EQ(getpwnam_r("root", &entry, buffer, sizeof(buffer),
				    &found),
			 0);
		CHECK(found == &entry && entry.pw_uid == 0);
	}
	return arg;
}

TEST(users)
{
	pthread_t threads[100];

	threads_start(threads, 100, look_up_user, NULL);
	threads_join(threads, 100);
}

static void *use_time(void *arg)
{
	time_t when = 86400 * (time_t)(intptr_t)arg;

	for (int i = 0; i < 20; i++) {
		struct tm tm;
		wchar_t wide[32];
		mbstate_t state = { 0 };
		const char *narrow = "narrow";

		CHECK(gmtime_r(&when, &tm) != NULL);
		CHECK_EQ(timegm(&tm), when);
		CHECK(localtime_r(&when, &tm) != NULL);
		CHECK_EQ(mktime(&tm), when);
		CHECK_EQ(mbsrtowcs(wide, &narrow, 32, &state), 6);
		CHECK(setenv("A_TEST_VARIABLE", "x", 1) == 0);
		CHECK(getenv("PATH") != NULL || getenv("HOME") != NULL);
	}
	return NULL;
}

TEST(time_and_environment)
{
	pthread_t threads[50];

	threads_start_numbered(threads, 50, use_time);
	threads_join(threads, 50);
}
