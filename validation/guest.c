// Traffic of the kernels of kernel.py:
//
//   rounds-server PORT BYTES JITTER_NS SEED
//         answers each byte of a request with BYTES, up to JITTER_NS later at random
//   rounds-client PORT BYTES ROUNDS PAUSE_NS ADDRESS...
//         asks all servers at once, waits for all answers and then for PAUSE_NS, ROUNDS times;
//         prints the duration of each round in ns
//   sink PORT MS
//         receives (TCP and MPTCP) and prints the time in ns and the bytes so far every MS ms
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#define MOST 64

static char buffer[1 << 20];

static int fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	return 1;
}

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void pause_for(long long ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
		;
}

static int listener(int port, int protocol)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	int one = 1, s = socket(AF_INET, SOCK_STREAM, protocol);
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	return s < 0 || bind(s, (void *)&a, sizeof a) || listen(s, 1024) ? -1 : s;
}

// A number below `limit`, by xorshift64*.
static long long draw(uint64_t *state, long long limit)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return limit > 0 ? (*state * 2685821657736338717ULL >> 11) % limit : 0;
}

static int rounds_server(int port, int bytes, long long jitter, uint64_t seed)
{
	int s = listener(port, 0);
	if (s < 0)
		return fail("rounds-server");
	int c = accept(s, 0, 0);
	if (c < 0)
		return fail("accept");
	uint64_t state = seed * 0x9e3779b97f4a7c15ULL | 1;
	for (int i = 0; i < 8; i++)
		draw(&state, 1);
	char ask;
	while (recv(c, &ask, 1, 0) == 1) {
		long long late = draw(&state, jitter);
		if (late)
			pause_for(late);
		for (int left = bytes; left > 0;) {
			ssize_t count = send(c, buffer, left, MSG_NOSIGNAL);
			if (count <= 0)
				return fail("send");
			left -= count;
		}
	}
	return 0;
}

static int rounds_client(int port, int bytes, int rounds, long long pause, int servers, char **addresses)
{
	struct pollfd s[MOST];
	int left[MOST], one = 1;
	if (servers > MOST)
		return fail("rounds-client: too many servers");
	for (int i = 0; i < servers; i++) {
		struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
		inet_pton(AF_INET, addresses[i], &a.sin_addr);
		s[i].fd = socket(AF_INET, SOCK_STREAM, 0);
		s[i].events = POLLIN;
		if (s[i].fd < 0 || connect(s[i].fd, (void *)&a, sizeof a))
			return fail("rounds-client");
		setsockopt(s[i].fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	}
	for (int round = 0; round < rounds; round++) {
		pause_for(pause);
		long long begin = now();
		for (int i = 0; i < servers; i++) {
			left[i] = bytes;
			if (send(s[i].fd, "", 1, MSG_NOSIGNAL) != 1)
				return fail("send");
		}
		for (int waiting = servers; waiting > 0;) {
			if (poll(s, servers, -1) < 0)
				return fail("poll");
			for (int i = 0; i < servers; i++) {
				if (!(s[i].revents & POLLIN))
					continue;
				ssize_t count = recv(s[i].fd, buffer, sizeof buffer, MSG_DONTWAIT);
				if (count <= 0)
					return fail("recv");
				left[i] -= count;
				waiting -= left[i] == 0;
			}
		}
		printf("round %lld\n", now() - begin);
	}
	return 0;
}

static int sink(int port, int ms)
{
	struct pollfd s[MOST] = { { listener(port, IPPROTO_MPTCP), POLLIN, 0 } };
	if (s[0].fd < 0)
		return fail("sink");
	int count = 1;
	long long total = 0, next = ms * 1000000LL;
	printf("time_ns,bytes\n");
	for (;;) {
		struct timespec wait = { 0 };
		long long at = now();
		while (at >= next) {
			printf("%lld,%lld\n", next, total);
			fflush(stdout);
			next += ms * 1000000LL;
		}
		wait.tv_nsec = next - at;
		if (ppoll(s, count, &wait, 0) < 0)
			return fail("ppoll");
		if (s[0].revents & POLLIN && count < MOST) {
			s[count].fd = accept(s[0].fd, 0, 0);
			s[count].events = POLLIN;
			s[count++].revents = 0;
		}
		for (int i = 1; i < count; i++) {
			if (!s[i].revents)
				continue;
			ssize_t got = recv(s[i].fd, buffer, sizeof buffer, MSG_DONTWAIT);
			if (got > 0)
				total += got;
			else if (got == 0)
				s[i].fd = ~s[i].fd;
		}
	}
}

int main(int count, char **words)
{
	setvbuf(stdout, 0, _IOLBF, 0);
	if (count == 6 && !strcmp(words[1], "rounds-server"))
		return rounds_server(atoi(words[2]), atoi(words[3]), atoll(words[4]), atoll(words[5]));
	if (count >= 7 && !strcmp(words[1], "rounds-client"))
		return rounds_client(atoi(words[2]), atoi(words[3]), atoi(words[4]), atoll(words[5]), count - 6, words + 6);
	if (count == 4 && !strcmp(words[1], "sink"))
		return sink(atoi(words[2]), atoi(words[3]));
	fprintf(stderr, "rounds-server PORT BYTES JITTER_NS SEED | rounds-client PORT BYTES ROUNDS PAUSE_NS ADDRESS... | sink PORT MS\n");
	return 2;
}
