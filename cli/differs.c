/* SPDX-License-Identifier: MIT */
/*
 * Compares the functions that a program imports with the table of deviations.h.
 * Only rows with ALWAYS count: the other functions differ in rare uses only,
 * and most programs import some of them.
 */
#include "differs.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "imports.h"

enum { SOMETIMES, ALWAYS };

enum {
#define WF_REASON(id, text) REASON_##id,
#include "deviations.h"
	NR_REASONS,
};

static const char *const reasons[] = {
#define WF_REASON(id, text) text,
#include "deviations.h"
};

static const struct {
	const char *name;
	int reason;
	int when;
} deviations[] = {
#define WF_DEVIATION(id, when, name) { #name, REASON_##id, when },
#include "deviations.h"
};

enum { NR_DEVIATIONS = sizeof(deviations) / sizeof(deviations[0]) };

static bool is_called[NR_DEVIATIONS];

static void note(const char *name, void *arg)
{
	for (size_t i = 0; i < NR_DEVIATIONS; i++)
		if (deviations[i].when == ALWAYS &&
		    strcmp(name, deviations[i].name) == 0)
			is_called[i] = true;
}

static void append(char *text, const char *more)
{
	size_t len = strlen(text);

	snprintf(text + len, WF_DIFFERS_TEXT - len, "%s", more);
}

bool wf_differs_read(const char *path)
{
	return wf_imports_visit(path, note, NULL);
}

void wf_differs_report(void (*tell)(const char *text))
{
	for (int reason = 0; reason < NR_REASONS; reason++) {
		char text[WF_DIFFERS_TEXT] = "";

		for (size_t i = 0; i < NR_DEVIATIONS; i++) {
			if (!is_called[i] || deviations[i].reason != reason)
				continue;
			append(text, *text != '\0' ? ", " : "");
			append(text, deviations[i].name);
		}
		if (*text == '\0')
			continue;
		append(text, ": ");
		append(text, reasons[reason]);
		tell(text);
	}
}
