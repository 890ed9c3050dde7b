/* SPDX-License-Identifier: MIT */
/*
 * A daemon as daemons are usually written. It leaves its terminal, closes all
 * descriptors, starts its threads in the last child process, and writes the pid
 * of that process to a file.
 *
 *     manners_daemon twice|libc|late FOLDER [threads]
 *
 * twice  forks twice, with setsid between, and closes whatever is open
 * libc   calls daemon()
 * late   as twice; its parent waits until it is served
 *
 * With "threads" the program also makes threads before it forks. The daemon
 * serves lines on a socket in the folder: "work", "fork" (a child answers),
 * "where". SIGHUP makes it open its log again; SIGTERM ends it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NR_WORKERS = 8, ROUNDS = 500 };

static int listener, log_fd;
static const char *folder;
static volatile sig_atomic_t is_to_end, is_to_reopen;

static void fail(const char *what)
{
	perror(what);
	_exit(99);
}

static const char *path_of(const char *name, char buffer[100])
{
	snprintf(buffer, 100, "%s/%s", folder, name);
	return buffer;
}

static void say(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) < 0)
		fail("write");
}

/* --- work --- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;

static void *count(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		total++;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void work(int fd)
{
	pthread_t threads[NR_WORKERS];
	static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
	char text[40];

	pthread_mutex_lock(&one);
	total = 0;
	for (int i = 0; i < NR_WORKERS; i++) {
		if (pthread_create(&threads[i], NULL, count, NULL) != 0)
			fail("pthread_create");
	}
	for (int i = 0; i < NR_WORKERS; i++)
		pthread_join(threads[i], NULL);
	snprintf(text, sizeof(text), "total %ld\n", total);
	pthread_mutex_unlock(&one);
	say(fd, text);
}

/* Like sshd: a process with its own session for each client. */
static void work_in_child(int fd)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		close(listener);
		if (setsid() != getpid())
			fail("setsid");
		work(fd);
		exit(4);
	}
	if (waitpid(pid, &status, 0) != pid)
		fail("waitpid");
	say(fd, WEXITSTATUS(status) == 4 ? "child 4\n" : "child ?\n");
}

static void tell_where(int fd)
{
	char text[200], cwd[100];
	struct stat st, null;
	bool is_null = stat("/dev/null", &null) == 0;

	for (int i = 0; i < 3; i++)
		is_null = is_null && fstat(i, &st) == 0 &&
			  st.st_rdev == null.st_rdev;
	snprintf(text, sizeof(text),
		 "cwd %s, leader %d, group %d, terminal %d, null %d\n",
		 getcwd(cwd, sizeof(cwd)), getsid(0) == getpid(),
		 getpgrp() == getsid(0), open("/dev/tty", O_RDWR) >= 0,
		 is_null);
	say(fd, text);
}

static void *sleep_forever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* --- the service --- */

static void *serve(void *arg)
{
	char line[20];
	ssize_t n;

	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			fail("accept");
		while ((n = read(fd, line, sizeof(line))) > 0) {
			if (line[0] == 'w' && line[1] == 'o')
				work(fd);
			else if (line[0] == 'w')
				tell_where(fd);
			else
				work_in_child(fd);
		}
		close(fd);
	}
	return arg;
}

static void on_signal(int sig)
{
	if (sig == SIGTERM)
		is_to_end = 1;
	else
		is_to_reopen = 1;
}

static void open_log(void)
{
	char path[100];

	log_fd =
		open(path_of("log", path), O_WRONLY | O_APPEND | O_CREAT, 0644);
	if (log_fd < 0)
		fail("log");
	say(log_fd, "opened\n");
}

static void listen_here(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	path_of("socket", address.sun_path);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(listener, 64) < 0)
		fail("socket");
}

static void write_pid(void)
{
	char path[100], text[40];
	int fd = open(path_of("new", path), O_WRONLY | O_CREAT, 0644);

	snprintf(text, sizeof(text), "%d\n", getpid());
	say(fd, text);
	close(fd);
	rename(path, path_of("pid", (char[100]){ 0 }));
}

static int run(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t threads[NR_WORKERS];
	char path[100];
	sigset_t set, none;

	open_log();
	listen_here();
	sigemptyset(&none);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	for (int i = 0; i < NR_WORKERS; i++) {
		if (pthread_create(&threads[i], NULL, serve, NULL) != 0)
			fail("pthread_create");
	}
	write_pid();
	while (!is_to_end) {
		sigsuspend(&none);
		if (!is_to_reopen)
			continue;
		is_to_reopen = 0;
		close(log_fd);
		open_log();
	}
	for (int i = 0; i < NR_WORKERS; i++)
		pthread_cancel(threads[i]);
	for (int i = 0; i < NR_WORKERS; i++)
		pthread_join(threads[i], NULL);
	say(log_fd, "end\n");
	unlink(path_of("pid", path));
	return 0;
}

/* --- becoming one --- */

/* /proc lists the open descriptors, so not every number is tried. */
static void close_all(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int fds[256], nr = 0;

	while ((entry = readdir(dir)) != NULL && nr < 256) {
		if (entry->d_name[0] != '.' &&
		    atoi(entry->d_name) != dirfd(dir))
			fds[nr++] = atoi(entry->d_name);
	}
	closedir(dir);
	while (nr > 0)
		close(fds[--nr]);
}

static void daemonise(int parent_waits)
{
	int ready[2];
	char byte;

	if (pipe(ready) < 0)
		fail("pipe");
	if (fork() > 0) {
		close(ready[1]);
		/*
		 * The child closes all descriptors, also the pipe's other end.
		 */
		while (parent_waits && read(ready[0], &byte, 1) > 0)
			continue;
		_exit(0);
	}
	if (setsid() < 0)
		fail("setsid");
	signal(SIGHUP, SIG_IGN);
	if (fork() > 0)
		_exit(0);
	if (chdir("/") < 0)
		fail("chdir");
	umask(022);
	close_all();
	if (open("/dev/null", O_RDWR) != 0 || dup(0) != 1 || dup(0) != 2)
		_exit(98);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 3)
		return 2;
	folder = argv[2];
	if (argc > 3) {
		work(STDOUT_FILENO);
		/* A thread that the daemon leaves behind. */
		pthread_create(&thread, NULL, sleep_forever, NULL);
	}
	if (strcmp(argv[1], "libc") == 0) {
		if (daemon(0, 0) < 0)
			fail("daemon");
		closefrom(3);
	} else {
		daemonise(strcmp(argv[1], "late") == 0);
	}
	return run();
}
