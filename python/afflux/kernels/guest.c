// Programs of a guest beside busybox, one file with a name for each:
//
//   sleep-until NS        sleeps until this virtual time in ns
//   bulk server PORT      receives bulk TCP transfers, and prints one line for each
//   bulk client HOST PORT SECONDS|BYTESB [mptcp]
//                         sends for a time (10) or a number of bytes (1000000B)
//   tcpinfo MS            prints the state of all TCP connections every MS ms, as CSV
//
// They make few system calls, because every call of a guest costs real time.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

static char buffer[1 << 18];

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	return 1;
}

static int until(long long ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0) == EINTR)
		;
	return 0;
}

// An address, or a name in /etc/hosts.
static int address(const char *host, struct in_addr *to)
{
	if (inet_pton(AF_INET, host, to) == 1)
		return 0;
	FILE *hosts = fopen("/etc/hosts", "r");
	char line[256], ip[64], name[128];
	while (hosts && fgets(line, sizeof line, hosts))
		if (sscanf(line, "%63s %127s", ip, name) == 2 && !strcmp(name, host))
			return inet_pton(AF_INET, ip, to) == 1 ? 0 : -1;
	return -1;
}

static int server(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	int one = 1, s = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	if (s < 0)
		s = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(s, (void *)&a, sizeof a) || listen(s, 1024))
		return fail("bulk server");
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		struct sockaddr_in peer;
		socklen_t length = sizeof peer;
		int c = accept(s, (void *)&peer, &length);
		if (c < 0)
			return fail("accept");
		if (fork()) {
			close(c);
			continue;
		}
		close(s);
		double begin = now(), end = begin;
		long long total = 0;
		ssize_t count;
		while ((count = recv(c, buffer, sizeof buffer, MSG_WAITALL)) > 0) {
			total += count;
			end = now();
		}
		send(c, &one, 1, MSG_NOSIGNAL);
		printf("received %lld bytes from %s in %.6f s: %.3f Mbit/s\n", total, inet_ntoa(peer.sin_addr), end - begin,
		       end > begin ? total * 8 / (end - begin) / 1e6 : 0);
		return 0;
	}
}

static int client(const char *host, int port, const char *amount, int protocol)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	if (address(host, &a.sin_addr)) {
		fprintf(stderr, "bulk client: unknown host %s\n", host);
		return 1;
	}
	int s = socket(AF_INET, SOCK_STREAM, protocol);
	double begin = now();
	if (s < 0 || connect(s, (void *)&a, sizeof a))
		return fail("bulk client");
	char *unit;
	double value = strtod(amount, &unit);
	int bytes = *unit == 'B';
	double end = now() + value;
	long long total = 0;
	while (bytes ? total < value : now() < end) {
		size_t most = sizeof buffer;
		if (bytes && value - total < most)
			most = value - total;
		ssize_t count = send(s, buffer, most, MSG_NOSIGNAL);
		if (count <= 0)
			return fail("bulk client");
		total += count;
	}
	// The server's byte says that everything has arrived.
	shutdown(s, SHUT_WR);
	if (recv(s, buffer, 1, 0) != 1)
		return fail("bulk client");
	double took = now() - begin;
	struct tcp_info i = { 0 };
	socklen_t length = sizeof i;
	getsockopt(s, IPPROTO_TCP, TCP_INFO, &i, &length);
	printf("sent %lld bytes in %.6f s: %.3f Mbit/s, %u retransmissions, %u CE, cwnd %u, rtt %u us, least %u us\n",
	       total, took, total * 8 / took / 1e6, i.tcpi_total_retrans, i.tcpi_delivered_ce, i.tcpi_snd_cwnd,
	       i.tcpi_rtt, i.tcpi_min_rtt);
	return 0;
}

static void row(struct inet_diag_msg *m, int length, double at)
{
	struct tcp_info i = { 0 };
	char control[32] = "";
	struct rtattr *a = (struct rtattr *)(m + 1);
	for (; RTA_OK(a, length); a = RTA_NEXT(a, length)) {
		if (a->rta_type == INET_DIAG_INFO)
			memcpy(&i, RTA_DATA(a), RTA_PAYLOAD(a) < sizeof i ? RTA_PAYLOAD(a) : sizeof i);
		if (a->rta_type == INET_DIAG_CONG)
			snprintf(control, sizeof control, "%s", (char *)RTA_DATA(a));
	}
	char src[INET_ADDRSTRLEN], dst[INET_ADDRSTRLEN];
	inet_ntop(AF_INET, m->id.idiag_src, src, sizeof src);
	inet_ntop(AF_INET, m->id.idiag_dst, dst, sizeof dst);
	printf("%.6f,%s,%d,%s,%d,%u,%s,%u,%u,%u,%u,%u,%u,%u,%llu,%llu,%llu,%u\n", at, src, ntohs(m->id.idiag_sport), dst,
	       ntohs(m->id.idiag_dport), m->idiag_state, control, i.tcpi_snd_cwnd, i.tcpi_snd_ssthresh, i.tcpi_rtt,
	       i.tcpi_rttvar, i.tcpi_unacked, i.tcpi_total_retrans, i.tcpi_delivered_ce,
	       (unsigned long long)i.tcpi_bytes_acked, (unsigned long long)i.tcpi_pacing_rate,
	       (unsigned long long)i.tcpi_delivery_rate, i.tcpi_ca_state);
}

static int tcpinfo(long long ms)
{
	int s = socket(AF_NETLINK, SOCK_DGRAM, NETLINK_SOCK_DIAG);
	if (s < 0)
		return fail("tcpinfo");
	printf("time_s,src,src_port,dst,dst_port,state,congestion,cwnd,ssthresh,rtt_us,rttvar_us,unacked,retransmissions,"
	       "delivered_ce,bytes_acked,pacing_bytes_s,delivery_bytes_s,ca_state\n");
	for (long long at = 0;; at += ms * 1000000) {
		if (at < now() * 1e9)
			continue;
		fflush(stdout);
		until(at);
		struct {
			struct nlmsghdr h;
			struct inet_diag_req_v2 r;
		} ask = { { sizeof ask, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP, 1, 0 },
			  { .sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP,
			    .idiag_ext = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1),
			    // Not listening, not in TIME-WAIT, not closed.
			    .idiag_states = ~(1u << 10 | 1u << 6 | 1u << 7) } };
		if (send(s, &ask, sizeof ask, 0) < 0)
			return fail("tcpinfo");
		for (int more = 1; more;) {
			int count = recv(s, buffer, sizeof buffer, 0);
			if (count < 0)
				return fail("tcpinfo");
			struct nlmsghdr *h = (void *)buffer;
			for (; NLMSG_OK(h, count); h = NLMSG_NEXT(h, count)) {
				if (h->nlmsg_type == NLMSG_DONE || h->nlmsg_type == NLMSG_ERROR)
					more = 0;
				else
					row(NLMSG_DATA(h), h->nlmsg_len - NLMSG_LENGTH(sizeof(struct inet_diag_msg)), at / 1e9);
			}
		}
	}
}

int main(int count, char **words)
{
	const char *name = strrchr(words[0], '/');
	name = name ? name + 1 : words[0];
	setvbuf(stdout, 0, _IOLBF, 0);
	if (!strcmp(name, "sleep-until") && count == 2)
		return until(atoll(words[1]));
	if (!strcmp(name, "tcpinfo") && count == 2 && atoll(words[1]) > 0) {
		setvbuf(stdout, 0, _IOFBF, 1 << 16);
		return tcpinfo(atoll(words[1]));
	}
	if (!strcmp(name, "bulk") && count == 3 && !strcmp(words[1], "server"))
		return server(atoi(words[2]));
	if (!strcmp(name, "bulk") && count >= 5 && !strcmp(words[1], "client"))
		return client(words[2], atoi(words[3]), words[4],
			      count > 5 && !strcmp(words[5], "mptcp") ? IPPROTO_MPTCP : 0);
	fprintf(stderr, "sleep-until NS | tcpinfo MS | bulk server PORT | bulk client HOST PORT SECONDS|BYTESB [mptcp]\n");
	return 2;
}
