/* SPDX-License-Identifier: MIT */
/*
 * Builds an environment without libc's setenv, since bare.c runs without libc.
 * The variables are in an array that is copied from envp, with room for one
 * page more of entries: the command sets only a few.
 */
#include "environment.h"

#include <stddef.h>
#include <string.h>

#include "base/compiler.h"
#include "os/mem.h"
#include "text.h"

static struct {
	char **all;
	size_t nr, room;
} variables;

bool wf_environment_begin(char **envp)
{
	size_t bytes;

	while (envp[variables.nr] != NULL)
		variables.nr++;
	/* One page more holds more variables than there are options. */
	bytes = wf_align_up(variables.nr * sizeof(*envp), WF_PAGE) + WF_PAGE;
	variables.all = wf_os_reserve(bytes);
	if (variables.all == NULL)
		return false;
	variables.room = bytes / sizeof(*envp);
	memcpy(variables.all, envp, variables.nr * sizeof(*envp));
	return true;
}

/* The index of the name's entry from i on, or the index for a new one. */
static size_t find_from(size_t i, const char *name)
{
	size_t len = strlen(name);

	while (i < variables.nr && (strncmp(variables.all[i], name, len) != 0 ||
				    variables.all[i][len] != '='))
		i++;
	return i;
}

const char *wf_environment_get(const char *name)
{
	size_t i = find_from(0, name);

	return i < variables.nr ? variables.all[i] + strlen(name) + 1 : NULL;
}

static void remove_at(size_t i)
{
	/* This moves the NULL behind the last one, too. */
	memmove(&variables.all[i], &variables.all[i + 1],
		(variables.nr - i) * sizeof(*variables.all));
	variables.nr--;
}

bool wf_environment_set(const char *name, const char *value)
{
	size_t name_len = strlen(name), value_len = strlen(value);
	size_t i = find_from(0, name);
	char *text;

	if (i + 1 == variables.room) /* one stays for the NULL */
		return false;
	text = wf_text_new(name_len + value_len + 2);
	if (text == NULL)
		return false;
	memcpy(text, name, name_len);
	text[name_len] = '=';
	memcpy(text + name_len + 1, value, value_len);
	if (i == variables.nr)
		variables.nr++;
	variables.all[i] = text;
	/* ld.so takes the last of several entries. */
	while ((i = find_from(i + 1, name)) < variables.nr)
		remove_at(i--);
	return true;
}

char **wf_environment_all(void)
{
	return variables.all;
}
