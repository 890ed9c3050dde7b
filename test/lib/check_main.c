/* SPDX-License-Identifier: MIT */
/* The main function of programs made of cases. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct check_case *cases;

void check_register(struct check_case *c)
{
	struct check_case **at = &cases;

	while (*at != NULL && (*at)->line < c->line)
		at = &(*at)->next;
	c->next = *at;
	*at = c;
}

static void run_case(const struct check_case *c)
{
	check_current = c->name;
	c->run();
	printf("ok %s\n", c->name);
	fflush(stdout);
}

/*
 * Runs the case in a child, so each case finds the program's variables in their
 * first state.
 */
static int run_forked(const struct check_case *c)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		run_case(c);
		exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child) {
		perror("fork or waitpid");
		return 1;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == CHECK_STATUS_SKIP)
		return 0;
	if (status == 0)
		return 0;
	fprintf(stderr, "failed %s: wait status %#x\n", c->name,
		(unsigned int)status);
	return 1;
}

static int run_named(const char *name)
{
	for (const struct check_case *c = cases; c != NULL; c = c->next) {
		if (strcmp(c->name, name) == 0) {
			run_case(c);
			return 0;
		}
	}
	fprintf(stderr, "no case %s\n", name);
	return 2;
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (argc > 1 && strcmp(argv[1], "--list") != 0)
		return run_named(argv[1]);
	for (const struct check_case *c = cases; c != NULL; c = c->next) {
		if (argc > 1)
			puts(c->name);
		else
			failed |= run_forked(c);
	}
	return failed;
}
