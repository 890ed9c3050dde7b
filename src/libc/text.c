#include "libc/text.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/compiler.h"
#include "libc/real.h"

enum { MAX_RANGES = 8 };

static struct range {
	uintptr_t low, high;
	enum wf_text text;
} ranges[MAX_RANGES];

static unsigned int nr_ranges;

static enum wf_text owner_of(const struct dl_phdr_info *info, uintptr_t low,
			     uintptr_t high)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *file = slash != NULL ? slash + 1 : info->dlpi_name;
	uintptr_t own = (uintptr_t)&wf_text_of;

	if (own >= low && own < high)
		return WF_TEXT_WEFT;
	if (strncmp(file, "libc.so", 7) == 0 ||
	    strncmp(file, "ld-linux", 8) == 0 ||
	    info->dlpi_addr == getauxval(AT_SYSINFO_EHDR))
		return WF_TEXT_LIBC;
	return WF_TEXT_PROGRAM;
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
	if (low < high && nr_ranges < MAX_RANGES) {
		enum wf_text text = owner_of(info, low, high);

		if (text != WF_TEXT_PROGRAM)
			ranges[nr_ranges++] = (struct range){ low, high, text };
	}
	return 0;
}

void wf_text_init(void)
{
	nr_ranges = 0;
	wf_real.dl_iterate_phdr(add_object, NULL);
}

enum wf_text wf_text_of(uintptr_t pc)
{
	for (unsigned int i = 0; i < nr_ranges; i++) {
		if (pc >= ranges[i].low && pc < ranges[i].high)
			return ranges[i].text;
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
