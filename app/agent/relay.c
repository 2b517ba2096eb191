#include "relay.h"

#include "session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int copy(int from, int to)
{
	char buf[65536];
	ssize_t n = read(from, buf, sizeof(buf));
	if (n < 0 && errno == EINTR)
		return 0;
	if (n <= 0)
		return -1;
	for (ssize_t done = 0; done < n;) {
		ssize_t w = write(to, buf + done, (size_t)(n - done));
		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return -1;
		done += w;
	}
	return 0;
}

int relay_run(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = SESSION_SOCKET };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0) {
		fprintf(stderr, "pmx-agent: no agent answers on " SESSION_SOCKET ": %s\n",
			strerror(errno));
		return 1;
	}
	struct pollfd p[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
			       { .fd = fd, .events = POLLIN } };
	for (;;) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			break;
		if (p[1].revents != 0 && copy(fd, STDOUT_FILENO) != 0)
			break;
		if (p[0].revents != 0 && copy(STDIN_FILENO, fd) != 0)
			break;
	}
	close(fd);
	return 0;
}
