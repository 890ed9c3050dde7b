/* SPDX-License-Identifier: MIT */
/*
 * Finds out whether a unit's seccomp filter refuses system calls that weft
 * makes. It applies the filter's settings to each system call of unit_calls.h,
 * in order: the last item that names the call decides.
 */
#include "unit_filter.h"

#include <stdbool.h>
#include <string.h>

#include "text.h"

enum need { NEEDED, BETTER, WITH_URING, WITHOUT_URING };

struct call {
	const char *name;
	enum need need;
	const char *groups;
};

static const struct call calls[] = {
#define WF_UNIT_CALL(name, need, groups) { #name, need, groups },
#include "unit_calls.h"
};
enum { NR_CALLS = sizeof(calls) / sizeof(calls[0]) };

/* The result for a call, by the last item that names it. */
enum fate { ALLOWED, REFUSED, KILLED };

/* True if the list, with spaces between words, has the word. */
static bool has_word(const char *list, const char *word, size_t len)
{
	while (*list != '\0') {
		size_t n = strcspn(list, " ");

		if (n == len && memcmp(list, word, len) == 0)
			return true;
		list += n;
		list += strspn(list, " ");
	}
	return false;
}

static bool is_kill(const char *word, size_t len)
{
	return len == 4 && memcmp(word, "kill", 4) == 0;
}

/* The fate of the calls that the filter does not allow. */
static enum fate fate_of_refused(const struct wf_unit *unit)
{
	const char *number = wf_unit_get(unit, "SystemCallErrorNumber");

	return number == NULL || is_kill(number, strlen(number)) ? KILLED :
								   REFUSED;
}

/* Applies one item: NAME, @GROUP, or either with :ERROR. */
static enum fate apply_item(enum fate fate, const struct call *call,
			    const char *item, size_t len, bool denies,
			    enum fate refused)
{
	const char *colon = memchr(item, ':', len);
	size_t name_len = colon != NULL ? (size_t)(colon - item) : len;
	bool is_meant = *item == '@' ? has_word(call->groups, item, name_len) :
				       has_word(call->name, item, name_len);

	if (!is_meant)
		return fate;
	if (!denies)
		return ALLOWED;
	if (colon == NULL)
		return refused;
	return is_kill(colon + 1, len - name_len - 1) ? KILLED : REFUSED;
}

/*
 * The first setting decides the kind of list: allowed calls, or refused calls
 * ("~"). Later settings of the other kind remove calls from it.
 */
static enum fate fate_of(const struct call *call, const struct wf_unit *unit)
{
	enum fate refused = fate_of_refused(unit), fate = ALLOWED;
	bool is_first = true;

	for (size_t i = 0; i < unit->nr; i++) {
		const char *list = unit->settings[i].value;
		bool denies = *list == '~';

		if (strcmp(unit->settings[i].key, "SystemCallFilter") != 0)
			continue;
		if (is_first && !denies &&
		    !has_word(call->groups, "@default", strlen("@default")))
			fate = refused;
		is_first = false;
		list += denies;
		while (*list != '\0') {
			size_t len = strcspn(list, " \t");

			if (len > 0)
				fate = apply_item(fate, call, list, len, denies,
						  refused);
			list += len;
			list += strspn(list, " \t");
		}
	}
	return fate;
}

static bool allows_uring(const struct wf_unit *unit)
{
	for (size_t i = 0; i < NR_CALLS; i++)
		if (strcmp(calls[i].name, "io_uring_setup") == 0)
			return fate_of(&calls[i], unit) == ALLOWED;
	return false;
}

enum wf_unit_verdict wf_unit_filter(const struct wf_unit *unit,
				    char ret_missing[WF_UNIT_MISSING])
{
	enum need other = allows_uring(unit) ? WITHOUT_URING : WITH_URING;
	enum wf_unit_verdict verdict = WF_UNIT_ALLOWS;

	*ret_missing = '\0';
	for (size_t i = 0; i < NR_CALLS; i++) {
		enum fate fate = fate_of(&calls[i], unit);

		if (fate == ALLOWED ||
		    (fate == REFUSED &&
		     (calls[i].need == BETTER || calls[i].need == other)))
			continue;
		if (fate == KILLED)
			verdict = WF_UNIT_KILLS;
		else if (verdict == WF_UNIT_ALLOWS)
			verdict = WF_UNIT_REFUSES;
		if (*ret_missing != '\0')
			wf_text_append(ret_missing, WF_UNIT_MISSING, " ");
		wf_text_append(ret_missing, WF_UNIT_MISSING, calls[i].name);
	}
	return verdict;
}
