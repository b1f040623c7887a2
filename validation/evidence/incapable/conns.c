// Opens TCP connections and reports their results, one line per connection and side:
//   KIND start connected finished bytes ecn ecn_seen retransmissions timeouts cwnd delivered_ce
// Times are seconds of the guest's monotonic clock, -1 for events that did not happen before END.
//
//   conns sink  PORT END                          receives and discards
//   conns serve PORT END                          sends as many bytes as a request of 8 bytes states
//   conns bulk  ADDR PORT END N CONNECT GAP SEND  opens N connections, GAP apart from CONNECT on;
//                                                they send from SEND on
//   conns push  ADDR PORT END N AT GAP BYTES      opens N connections, GAP apart from AT on; each
//                                                sends BYTES (the sender opens)
//   conns off                                     powers the machine off
//   conns read  ADDR PORT END N AT GAP BYTES      opens N connections, GAP apart from AT on; each
//                                                requests BYTES (the receiver opens)
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char buf[1 << 16];
static volatile int over;
static double end;

static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static void until(double t) {
  struct timespec at = {(time_t)t, (long)((t - (time_t)t) * 1e9)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, 0) == EINTR && !over) {}
}
static void alarmed(int s) { (void)s; over = 1; }
static void limit(void) {
  struct sigaction a = {.sa_handler = alarmed};
  sigaction(SIGALRM, &a, 0);
  double left = end - now();
  if (left < 1e-3) left = 1e-3;
  struct itimerval v = {{0, 50000}, {(time_t)left, (long)((left - (time_t)left) * 1e6)}};
  setitimer(ITIMER_REAL, &v, 0);
}
static void tell(const char *kind, int s, double start, double connected, double finished, long n) {
  struct tcp_info i; socklen_t l = sizeof i; char line[256];
  memset(&i, 0, sizeof i);
  getsockopt(s, IPPROTO_TCP, TCP_INFO, &i, &l);
  int rto = i.tcpi_total_rto;  // headers of Linux 6.7 or later
  int k = snprintf(line, sizeof line, "%s %.6f %.6f %.6f %ld %d %d %u %d %u %u\n", kind, start, connected, finished, n, !!(i.tcpi_options & 8), !!(i.tcpi_options & 16),
                   i.tcpi_total_retrans, rto, i.tcpi_snd_cwnd, i.tcpi_delivered_ce);
  if (write(1, line, k) != k) _exit(1);
}
static int opened(char **v) {
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(atoi(v[3]))};
  inet_pton(AF_INET, v[2], &a.sin_addr);
  int s = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(s, (void *)&a, sizeof a)) { close(s); return -1; }
  return s;
}
static long sent(int s, long most) {
  long n = 0, r;
  while (n < most && !over) {
    r = send(s, buf, most - n < (long)sizeof buf ? most - n : (long)sizeof buf, MSG_NOSIGNAL);
    if (r <= 0) break;
    n += r;
  }
  return n;
}
static long taken(int s) { long n = 0, r; while (!over && (r = recv(s, buf, sizeof buf, 0)) > 0) n += r; return n; }
// All data has been acknowledged once the peer has received the end of the stream and closes.
static double closed(int s) { shutdown(s, SHUT_WR); return !over && recv(s, buf, 1, 0) == 0 ? now() : -1; }

static void one(char **v, int i, int listening) {
  double start = now(), connected = -1, finished = -1; long n = 0;
  limit();
  if (listening) {
    int s = i;
    if (v[1][1] == 'i') {
      n = taken(s); finished = over ? -1 : now();
    } else {
      long want = 0;
      if (recv(s, &want, 8, MSG_WAITALL) == 8) { n = sent(s, want); finished = closed(s); }
    }
    tell(v[1], s, start, start, finished, n);
  } else {
    int s = opened(v);
    if (s < 0) { printf("%s %.6f -1 -1 0 0 0 0 0 0 0\n", v[1], start); fflush(stdout); return; }
    connected = now();
    if (v[1][0] == 'b') {
      until(atof(v[8]));
      n = sent(s, 1L << 50);
    } else if (v[1][0] == 'p') {
      n = sent(s, atol(v[8])); finished = closed(s);
    } else {
      long want = atol(v[8]);
      if (send(s, &want, 8, 0) == 8) { n = taken(s); if (n == want) finished = now(); }
    }
    tell(v[1], s, start, connected, finished, n);
  }
}
int main(int c, char **v) {
  (void)c; signal(SIGPIPE, SIG_IGN);
  if (v[1][0] == 'o') return reboot(RB_POWER_OFF);
  if (v[1][0] == 's') {
    end = atof(v[3]);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(atoi(v[2]))};
    int one_ = 1, l = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one_, 4);
    if (bind(l, (void *)&a, sizeof a) || listen(l, 1000)) { perror("listen"); return 1; }
    limit();
    while (!over) {
      int s = accept(l, 0, 0);
      if (s < 0) continue;
      if (!fork()) { close(l); one(v, s, 1); _exit(0); }
      close(s);
    }
  } else {
    end = atof(v[4]);
    int n = atoi(v[5]);
    for (int i = 0; i < n; i++) {
      until(atof(v[6]) + i * atof(v[7]));
      if (!fork()) { one(v, i, 0); _exit(0); }
    }
  }
  while (wait(0) > 0 || errno == EINTR) {}
}
