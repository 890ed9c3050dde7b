/* SPDX-License-Identifier: MIT */
/*
 * src/libc/tcb.c: what a clean renewal writes. Templates of all sizes are
 * renewed in the way for the usual libc and in the way for any other, and both
 * are compared with a renewal word by word.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "libc/layout.h"
#include "libc/real.h"
#include "libc/tcb.h"
#include "libc/template.h"
#include "random.h"

/* Words below the thread register, and from it on. */
enum { BELOW = 64, ABOVE = 64, WINDOW_AT = 4, TID = 4711 };

struct wf_libc_layout wf_libc;
struct wf_real wf_real;
struct wf_template wf_template;

struct words {
	uint64_t below[BELOW], above[ABOVE];
};

static struct test_random seed;

static uint64_t random64(void)
{
	return (uint64_t)test_random(&seed, UINT32_MAX) << 32 |
	       test_random(&seed, UINT32_MAX);
}

static void fill(uint64_t *words, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		words[i] = random64();
}

/* Makes a template. Its window has nr_window words, libc's TLS block nr_tls. */
static void make_template(size_t nr_window, size_t nr_tls)
{
	struct wf_image *im = &wf_template.libc_tls;

	memset(&wf_template, 0, sizeof(wf_template));
	wf_template.window = WINDOW_AT * 8;
	wf_template.window_bytes = nr_window * 8;
	fill(wf_template.window_words, nr_window);
	for (size_t i = 0; i < nr_window; i++)
		wf_template.window_masks[i] = i % 3 == 1 ? UINT64_MAX : 0;
	wf_libc.tid_offset = wf_template.window;
	im->size = nr_tls * 8;
	fill((uint64_t *)im->bytes, nr_tls);
	wf_template.libc_tls_below = (nr_tls + 1) * 8;
	im->nr_relocations = 1;
	im->relocations[0] = (struct wf_relocation){ 8, 1720 };
	wf_template.nr_malloc_words = 2;
	wf_template.malloc_words[0] = (uint32_t)(nr_tls / 2 * 8);
	wf_template.malloc_words[1] = (uint32_t)((nr_tls - 1) * 8);
}

/* Does to w what a renewal has to do. */
static void expect(struct words *w)
{
	const struct wf_image *im = &wf_template.libc_tls;
	uintptr_t tcb = (uintptr_t)w->above;
	uint64_t *block = (uint64_t *)(tcb - wf_template.libc_tls_below);
	const int tid = TID;
	size_t kept[2] = { wf_template.malloc_words[0] / 8,
			   wf_template.malloc_words[1] / 8 };

	for (size_t i = 0; i < wf_template.window_bytes / 8; i++)
		w->above[WINDOW_AT + i] =
			wf_template.window_words[i] +
			(wf_template.window_masks[i] != 0 ? tcb : 0);
	memcpy(&w->above[WINDOW_AT], &tid, sizeof(tid));
	for (size_t i = 0; i < im->size / 8; i++) {
		if (i != kept[0] && i != kept[1])
			block[i] = ((const uint64_t *)im->bytes)[i];
	}
	block[1] = tcb + 1720;
}

static void check(bool is_usual)
{
	struct words before, now, wanted;

	wf_template.is_usual = is_usual;
	fill((uint64_t *)&before, sizeof(before) / 8);
	now = before;
	wf_tcb_renew_clean((uintptr_t)now.above, TID);
	/* At the same address, since words point into the TCB. */
	wanted = now;
	now = before;
	expect(&now);
	assert_memory_equal(&wanted, &now, sizeof(now));
}

static void usual_and_others_are_alike(void **state)
{
	for (size_t nr_tls = 6; nr_tls * 8 <= WF_TEMPLATE_USUAL_BYTES;
	     nr_tls += 2) {
		make_template(nr_tls, nr_tls);
		check(true);
		check(false);
	}
}

static void windows_of_all_sizes(void **state)
{
	for (size_t nr = 1; nr <= WF_TEMPLATE_WINDOW_WORDS; nr++) {
		make_template(nr, 6);
		check(true);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usual_and_others_are_alike),
		cmocka_unit_test(windows_of_all_sizes),
	};

	seed = (struct test_random){ test_seed() };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
