/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "text.h"
#include "utf8.h"

void wf_see_json_string(const char *text)
{
	putchar('"');
	while (*text != '\0') {
		size_t n = wf_see_utf8_at(text);

		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if (n == 1 && *text < ' ')
			printf("\\u%04x", (unsigned int)*text);
		else if (n > 0)
			fwrite(text, 1, n, stdout);
		else
			putchar('?');
		text += n > 0 ? n : 1;
	}
	putchar('"');
}

static void string(const char *name, const char *text)
{
	if (text == NULL)
		return;
	printf(", \"%s\": ", name);
	wf_see_json_string(text);
}

static void address(const char *name, uint64_t value)
{
	if (value != 0)
		printf(", \"%s\": \"0x%" PRIx64 "\"", name, value);
}

static void number(const char *name, int64_t value)
{
	printf(", \"%s\": %" PRId64, name, value);
}

static void print_owner(const struct wf_see_table *table,
			const struct wf_see_thread *t)
{
	if (t->owner_tid <= 0)
		return;
	printf(", \"owner\": {\"tid\": %d", t->owner_tid);
	if (t->owner < table->nr)
		string("name", table->threads[t->owner].name);
	printf("}");
}

static void print_signals(uint64_t set)
{
	const char *comma = "";

	printf(", \"signals\": [");
	for (int sig = 1; sig <= 64; sig++) {
		if ((set >> (sig - 1) & 1) == 0)
			continue;
		printf("%s%d", comma, sig);
		comma = ", ";
	}
	printf("]");
}

void wf_see_json_object(const struct wf_see_table *table,
			const struct wf_see_thread *t)
{
	printf("\"kind\": \"%s\"", t->was_moved ? "mutex" : t->wait_kind);
	address("object", t->object);
	address("mutex", t->mutex);
	print_owner(table, t);
	if (strcmp(t->wait_kind, "barrier") == 0) {
		number("arrived", t->arrived);
		number("count", t->count);
	}
}

static void print_wait(const struct wf_see_table *table,
		       const struct wf_see_thread *t)
{
	printf(", \"parkBlocker\": {");
	wf_see_json_object(table, t);
	if (t->operation_call >= 0) {
		const char *name = wf_see_call_name(t->operation_call);

		string("operation", name != NULL ? name : "call");
		number("systemCall", t->operation_call);
	} else {
		string("operation", t->operation);
	}
	if (t->fd >= 0)
		number("descriptor", t->fd);
	string("backend", t->backend);
	if (t->signals != 0)
		print_signals(t->signals);
	if (t->was_moved)
		printf(", \"afterCondition\": true");
	printf("}");
	if (t->since_ns != 0 && table->now_ns != 0)
		number("waitedMs",
		       (table->now_ns - t->since_ns) / WF_SEE_NS_PER_MS);
	if (t->until_ns != 0 && table->now_ns != 0)
		number("leftMs", t->until_ns > table->now_ns ?
					 (t->until_ns - table->now_ns) /
						 WF_SEE_NS_PER_MS :
					 0);
}

static void print_registers(const struct wf_see_thread *t)
{
	const struct wf_arch_registers *r = &t->registers;

	if (t->registers_from == WF_SEE_REGISTERS_NONE ||
	    t->registers_from == WF_SEE_REGISTERS_ENTRY)
		return;
	printf(", \"registers\": {\"rip\": \"0x%" PRIx64 "\"", r->rip);
	address("rsp", r->rsp);
	address("rbp", r->rbp);
	if (t->registers_from != WF_SEE_REGISTERS_SAVED) {
		address("rbx", r->rbx);
		address("r12", r->r12);
		address("r13", r->r13);
		address("r14", r->r14);
		address("r15", r->r15);
	}
	printf("}");
}

static void print_place(const struct wf_see_thread *t)
{
	if (t->vp >= 0)
		number("virtualProcessor", t->vp);
	if (t->carrier_tid != 0)
		printf(", \"carrier\": {\"tid\": %d}", t->carrier_tid);
	if (t->is_bound)
		string("bound", t->bound_why != NULL ? t->bound_why : "none");
	if (t->system_call >= 0) {
		number("systemCall", t->system_call);
		string("systemCallName", wf_see_call_name(t->system_call));
	}
	if (t->queue != NULL) {
		string("queue", t->queue);
		if (t->queue_vp >= 0)
			number("queueProcessor", t->queue_vp);
	}
}

static void print_thread(const struct wf_see *see,
			 const struct wf_see_table *table,
			 const struct wf_see_thread *t,
			 const struct wf_see_json_more *more)
{
	char place[WF_SEE_TEXT];

	printf("{\"tid\": %d", t->tid);
	string("name", t->name);
	string("state", wf_see_state_name(t->state));
	address("pthread", t->pthread);
	if (t->is_first)
		printf(", \"first\": true");
	if (t->start != 0) {
		wf_see_place(see, t->start, place, sizeof(place));
		string("startRoutine", place);
		address("startAddress", t->start);
	}
	print_place(t);
	if (t->wait_kind != NULL)
		print_wait(table, t);
	print_registers(t);
	if (more != NULL)
		more->thread(more->arg, t);
	printf("}");
}

static void print_cycle(void *arg, const struct wf_see_thread *const *of,
			uint32_t nr)
{
	const char **comma = arg;

	printf("%s[", *comma);
	for (uint32_t i = 0; i < nr; i++)
		printf("%s%d", i > 0 ? ", " : "", of[i]->tid);
	printf("]");
	*comma = ", ";
}

static void print_time(void)
{
	time_t now = time(NULL);
	struct tm tm;
	char text[32];

	gmtime_r(&now, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	string("time", text);
}

void wf_see_json(const struct wf_see *see, const struct wf_see_table *table,
		 const struct wf_see_thread *const *order, uint32_t nr,
		 const struct wf_see_json_more *more)
{
	const char *comma = "";

	printf("{\"threadDump\": {\"processId\": %d", wf_see_pid(see));
	if (wf_see_pid(see) != 0)
		print_time();
	printf(", \"runtimeVersion\": \"weft %s\"", wf_see_version(see));
	number("virtualProcessors", table->nr_vps);
	printf(",\n\"deadlocks\": [");
	wf_see_cycles(see, table, print_cycle, &comma);
	printf("]");
	if (more != NULL)
		more->head(more->arg);
	printf(",\n\"threads\": [\n");
	for (uint32_t i = 0; i < nr; i++) {
		print_thread(see, table, order[i], more);
		printf("%s\n", i + 1 < nr ? "," : "");
	}
	printf("]}}\n");
}
