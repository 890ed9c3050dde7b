/* SPDX-License-Identifier: MIT */
/*
 * Keeps the ranges of executable memory of libc, ld.so and weft; all other code
 * counts as the program's. libc's string functions are found one by one, by
 * symbol and unwind table, since a thread may be preempted in them.
 */
#include "libc/text.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/compiler.h"
#include "libc/elf.h"
#include "libc/real.h"
#include "libc/unwind.h"
#include "os/mem.h"

enum { MAX_RANGES = 8, MAX_LEAVES = 64 };

static struct range {
	uintptr_t low, high;
	enum wf_text text;
} ranges[MAX_RANGES];

static unsigned int nr_ranges;

static bool is_on_stacks;

/* The linker defines these. */
extern const char __start_weft_preemptible[], __stop_weft_preemptible[];

/*
 * Functions that take no lock, call no function and push nothing. Threads that
 * stay long in libc are mostly in these.
 */
static const char *const leaf_names[] = {
	"memset",  "memcpy",	"memmove", "mempcpy", "memcmp",	 "memchr",
	"memrchr", "strlen",	"strnlen", "strcpy",  "strncpy", "stpcpy",
	"stpncpy", "strcat",	"strncat", "strcmp",  "strncmp", "strchr",
	"strrchr", "wmemset",	"wmemchr", "wcslen",  "wmemcmp", "rawmemchr",
	"wcschr",  "strchrnul",
};

static struct range leaves[MAX_LEAVES];
static unsigned int nr_leaves;

static enum wf_text owner_of(const struct dl_phdr_info *info, uintptr_t low,
			     uintptr_t high)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *file = slash != NULL ? slash + 1 : info->dlpi_name;
	uintptr_t own = (uintptr_t)&wf_text_of;

	if (own >= low && own < high)
		return WF_TEXT_WEFT;
	if (strncmp(file, "libc.so", 7) == 0 ||
	    strncmp(file, "ld-linux", 8) == 0)
		return WF_TEXT_LIBC;
	return WF_TEXT_PROGRAM;
}

/*
 * Does the object ask for executable stacks? The answer is ld.so's: the header
 * PT_GNU_STACK decides. The vDSO has no such header.
 */
static bool wants_code_on_stacks(const struct dl_phdr_info *info, uintptr_t low,
				 uintptr_t high)
{
	uintptr_t kernel = getauxval(AT_SYSINFO_EHDR);

	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type == PT_GNU_STACK)
			return (info->dlpi_phdr[i].p_flags & PF_X) != 0;
	}
	return kernel < low || kernel >= high;
}

static int add_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t low = UINTPTR_MAX, high = 0;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD || (p->p_flags & PF_X) == 0)
			continue;
		low = begin < low ? begin : low;
		high = begin + p->p_memsz > high ? begin + p->p_memsz : high;
	}
	if (wants_code_on_stacks(info, wf_align_down(low, WF_PAGE), high))
		is_on_stacks = true;
	if (low < high && nr_ranges < MAX_RANGES) {
		enum wf_text text = owner_of(info, low, high);

		if (text != WF_TEXT_PROGRAM)
			ranges[nr_ranges++] = (struct range){ low, high, text };
	}
	return 0;
}

static void add_leaves(void)
{
	nr_leaves = 0;
	for (size_t i = 0; i < WF_ARRAY_LEN(leaf_names); i++) {
		struct range *r = &leaves[nr_leaves];
		uintptr_t start =
			(uintptr_t)wf_elf_symbol("libc.so", leaf_names[i]);

		if (start != 0 && nr_leaves < MAX_LEAVES &&
		    wf_unwind_function(start, &r->low, &r->high))
			nr_leaves++;
	}
}

void wf_text_init(void)
{
	/*
	 * In a fork child the parent's ranges hold, and the list may be
	 * inconsistent (loader.c).
	 */
	if (nr_ranges > 0)
		return;
	wf_real.dl_iterate_phdr(add_object, NULL);
	add_leaves();
}

bool wf_text_is_on_stacks(void)
{
	return is_on_stacks;
}

static bool is_leaf(uintptr_t pc)
{
	for (unsigned int i = 0; i < nr_leaves; i++) {
		if (pc >= leaves[i].low && pc < leaves[i].high)
			return true;
	}
	return false;
}

static bool is_preemptible(uintptr_t pc)
{
	return pc >= (uintptr_t)__start_weft_preemptible &&
	       pc < (uintptr_t)__stop_weft_preemptible;
}

enum wf_text wf_text_of(uintptr_t pc)
{
	if (is_preemptible(pc))
		return WF_TEXT_PREEMPTIBLE;
	for (unsigned int i = 0; i < nr_ranges; i++) {
		if (pc >= ranges[i].low && pc < ranges[i].high)
			return ranges[i].text == WF_TEXT_LIBC && is_leaf(pc) ?
				       WF_TEXT_LEAF :
				       ranges[i].text;
	}
	return WF_TEXT_PROGRAM;
}

uintptr_t wf_text_find(const void *code, size_t bytes)
{
	for (unsigned int i = 0; i < nr_ranges; i++) {
		const void *found;

		if (ranges[i].text != WF_TEXT_LIBC)
			continue;
		found = memmem((const void *)ranges[i].low,
			       ranges[i].high - ranges[i].low, code, bytes);
		if (found != NULL)
			return (uintptr_t)found;
	}
	return 0;
}
