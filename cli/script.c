/* SPDX-License-Identifier: MIT */
/*
 * Reads a script's first line as the kernel does, and env's argument as env
 * does.
 *
 * SCRIPT-1. The kernel makes one argument of all text after the interpreter.
 *     env splits it only if it begins with -S.
 * SCRIPT-2. If the argument has more than names, variables and the common
 *     options, the result is env itself. If the script is faulty, env prints
 *     the message.
 */
#include "script.h"

#include <stdbool.h>
#include <string.h>

#include "path.h"

/* Bytes of a script that the kernel reads to find its interpreter. */
#define SCRIPT_HEAD 256

/* Cuts the next word off the line; "" if there is none. */
static char *next_word(char **line)
{
	char *word = *line + strspn(*line, " \t");
	size_t len = strcspn(word, " \t");

	*line = word + len + (word[len] != '\0');
	word[len] = '\0';
	return word;
}

static bool has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* env's argument without the option to split it, or NULL. */
static char *after_split(char *argument)
{
	static const char *const options[] = { "-S", "-vS", "--split-string=" };

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (has_prefix(argument, options[i]))
			return argument + strlen(options[i]);
	return NULL;
}

/*
 * The program among the words that env has split; "" if it cannot be told. If a
 * word may change PATH or the directory, stores false: then env's search cannot
 * be predicted.
 */
static const char *split_program(char *line, bool *ret_is_path_ours)
{
	bool is_path_ours = true;
	const char *word;

	if (strpbrk(line, "\"'\\$#") != NULL)
		return ""; /* SCRIPT-2 */
	for (;;) {
		word = next_word(&line);
		if (*word == '-') {
			is_path_ours = false;
			if (strcmp(word, "-u") == 0 || strcmp(word, "-C") == 0)
				next_word(&line);
			else if (strcmp(word, "-") != 0 &&
				 strcmp(word, "-i") != 0)
				return ""; /* SCRIPT-2 */
		} else if (strchr(word, '=') == NULL) {
			break;
		} else if (has_prefix(word, "PATH=")) {
			is_path_ours = false;
		}
	}
	*ret_is_path_ours = is_path_ours;
	return word;
}

static void follow_env(char *argument, struct wf_script *script)
{
	char *line = after_split(argument);
	const char *program = argument; /* SCRIPT-1 */
	static char found[PATH_MAX];
	bool is_path_ours = true;
	int err;

	if (line != NULL)
		program = split_program(line, &is_path_ours);
	else if (*argument == '-' || strchr(argument, '=') != NULL)
		return; /* SCRIPT-2 */
	if (*program == '\0')
		return;
	err = wf_path_search(program, found);
	if (err == 0) {
		strcpy(script->interpreter, found);
	} else if (is_path_ours) {
		strcpy(script->interpreter, program);
		script->error = err;
	}
}

void wf_script_read(const char *bytes, size_t size,
		    struct wf_script *ret_script)
{
	char head[SCRIPT_HEAD + 1];
	size_t len = size < SCRIPT_HEAD ? size : SCRIPT_HEAD;
	char *line = head + 2;

	ret_script->interpreter[0] = '\0';
	ret_script->error = 0;
	if (len < 2 || bytes[0] != '#' || bytes[1] != '!')
		return;
	memcpy(head, bytes, len);
	head[len] = '\0';
	len = strcspn(head, "\n");
	while (head[len - 1] == ' ' || head[len - 1] == '\t')
		len--;
	head[len] = '\0';
	strcpy(ret_script->interpreter, next_word(&line));
	line += strspn(line, " \t");
	if (strcmp(wf_path_name(ret_script->interpreter), "env") == 0)
		follow_env(line, ret_script);
}
