/* SPDX-License-Identifier: MIT */
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
	/* And as many as a page holds: more than there are options. */
	bytes = wf_align_up(variables.nr * sizeof(*envp), WF_PAGE) + WF_PAGE;
	variables.all = wf_os_reserve(bytes);
	if (variables.all == NULL)
		return false;
	variables.room = bytes / sizeof(*envp);
	memcpy(variables.all, envp, variables.nr * sizeof(*envp));
	return true;
}

/* Its place from the i'th on, or where it would be put. */
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
	/* With the NULL behind the last one. */
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
	/* ld.so takes the last of several. */
	while ((i = find_from(i + 1, name)) < variables.nr)
		remove_at(i--);
	return true;
}

char **wf_environment_all(void)
{
	return variables.all;
}
