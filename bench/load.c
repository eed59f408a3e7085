/*
 * load.c - HTTP/1.1 load generator for a model gateway: closed loop or open loop (Poisson), JSON or SSE,
 * with the CPU time of the measured process(es) taken from /proc over exactly the measured window.
 *
 *   cc -O2 -o load load.c -lm
 *   ./load -u http://127.0.0.1:9200/api/v1/responses -b body.json -H 'authorization: Bearer k' \
 *          -c 64 -w 3 -d 8 [-r RATE] [-s] [-p PID,PID] [-o PID,PID] [-n NAME]
 *
 *   -c connections    -w warm-up seconds   -d measured seconds   -r requests/s (open loop; 0 = as fast as it goes)
 *   -s  SSE: count data: lines, time of the first one, and per-delta latency from the mock's "@T" stamps
 *   -p  pids of the gateway (CPU and RSS are summed)   -o  other pids of the rig (left out of "foreign" CPU)
 * One JSON object on stdout. In open loop the latency counts from the scheduled time (no coordinated omission).
 * Exit status 1 when any response was not 200, broken, or (with -s) ended without data.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SUB 128
typedef struct { uint64_t n, max; double sum; uint32_t b[64 * SUB]; } hist;
static void h_add(hist *h, uint64_t v) {
  h->n++; h->sum += (double)v; if (v > h->max) h->max = v;
  int i; if (v < SUB) i = (int)v; else { int e = 63 - __builtin_clzll(v) - 6; i = e * SUB / 2 + (int)(v >> e) ; }
  if (i >= 64 * SUB) i = 64 * SUB - 1;
  h->b[i]++;
}
static double h_q(const hist *h, double q) {   /* microseconds */
  if (!h->n) return 0;
  uint64_t want = (uint64_t)ceil(q * (double)h->n), c = 0; if (!want) want = 1;
  for (int i = 0; i < 64 * SUB; i++) { c += h->b[i]; if (c >= want) { if (i < SUB) return i; int e = (i - SUB / 2) / (SUB / 2); return ldexp((double)(i - e * SUB / 2) + 0.5, e); } }
  return (double)h->max;
}

typedef struct { int fd, state, want_out; size_t sent; uint64_t t0; int first; uint64_t ev;
  char head[16384]; size_t hl; int chunked, closed_body; int64_t left; int cs; uint64_t csize; char *line; size_t ll, lc; int status, junk; } conn;
/* state: 0 idle, 1 sending/waiting head, 2 body */
static conn *C; static int nc = 64, ep, sse; static char *req; static size_t reqlen; static struct sockaddr_in addr;
static int *idle; static int ih, it, in_; /* ring of idle connections */
static uint64_t *pend; static size_t ph, pt, pn, pcap;
static hist H, F, D; static uint64_t w0, w1, done_w, ev_w, bytes_w, errs, non200, dropped, started; static double rate;
static volatile int stop;
static void onsig(int s) { (void)s; stop = 1; }
static uint64_t now_us(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (uint64_t)t.tv_sec * 1000000ull + (uint64_t)t.tv_nsec / 1000; }

static void open_conn(conn *c) {
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); int one = 1; setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (connect(c->fd, (struct sockaddr *)&addr, sizeof addr)) { perror("connect"); exit(1); }
  struct epoll_event e = { EPOLLIN, { .ptr = c } }; epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &e);
  c->state = 0; c->want_out = 0;
}
static void pump_send(conn *c) {
  while (c->sent < reqlen) {
    ssize_t w = send(c->fd, req + c->sent, reqlen - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (w < 0) { if (errno == EAGAIN) { if (!c->want_out) { struct epoll_event e = { EPOLLIN | EPOLLOUT, { .ptr = c } }; epoll_ctl(ep, EPOLL_CTL_MOD, c->fd, &e); c->want_out = 1; } return; } return; /* error shows up on read */ }
    c->sent += (size_t)w;
  }
  if (c->want_out) { struct epoll_event e = { EPOLLIN, { .ptr = c } }; epoll_ctl(ep, EPOLL_CTL_MOD, c->fd, &e); c->want_out = 0; }
}
static void start(conn *c, uint64_t t) {
  c->state = 1; c->sent = 0; c->t0 = t; c->hl = 0; c->first = 0; c->ev = 0; c->ll = 0; c->chunked = 0; c->left = -1; c->cs = 0; c->csize = 0; c->closed_body = 0; started++;
  pump_send(c);
}
static void idle_push(conn *c) { idle[it] = (int)(c - C); it = (it + 1) % nc; in_++; c->state = 0; }
static void next_req(conn *c) {
  if (stop) { c->state = 0; return; }
  if (rate <= 0) { start(c, now_us()); return; }
  if (pn) { uint64_t t = pend[ph]; ph = (ph + 1) % pcap; pn--; start(c, t); return; }
  idle_push(c);
}
static void finish(conn *c, uint64_t t) {
  if (c->status != 200) { non200++; if (non200 <= 2) fprintf(stderr, "status %d: %.300s\n", c->status, c->head); }
  else if (sse && !c->ev) { errs++; }
  if (t >= w0 && t < w1) done_w++;
  if (c->t0 >= w0 && t < w1 + 2000000) { if (c->status == 200 && (rate <= 0 ? t < w1 : c->t0 < w1)) h_add(&H, t - c->t0); }
  next_req(c);
}
static void fail(conn *c) {
  errs++; close(c->fd); open_conn(c); next_req(c);
}
static void line_done(conn *c, const char *p, size_t n, uint64_t t) {
  if (n < 5 || memcmp(p, "data:", 5)) return;
  c->ev++; if (t >= w0 && t < w1) ev_w++;
  if (!c->first) { c->first = 1; if (c->t0 >= w0 && t < w1) h_add(&F, t - c->t0); }
  /* per-delta latency: only events that carry exactly one stamp are deltas (a final event repeats them all) */
  if (t >= w0 && t < w1 && n < 600) { const char *m = memmem(p, n, "@T", 2); if (m && m + 18 <= p + n) { uint64_t s = strtoull(m + 2, NULL, 10); if (s && s <= t) h_add(&D, t - s); } }
}
static void body_bytes(conn *c, const char *p, size_t n, uint64_t t) {
  if (t >= w0 && t < w1) bytes_w += n;
  if (!sse) return;
  while (n) {
    const char *nl = memchr(p, '\n', n);
    if (!nl) { if (c->ll + n > c->lc) { c->lc = (c->ll + n) * 2; c->line = realloc(c->line, c->lc); } memcpy(c->line + c->ll, p, n); c->ll += n; return; }
    size_t k = (size_t)(nl - p);
    if (c->ll) { if (c->ll + k > c->lc) { c->lc = (c->ll + k) * 2; c->line = realloc(c->line, c->lc); } memcpy(c->line + c->ll, p, k); line_done(c, c->line, c->ll + k, t); c->ll = 0; }
    else line_done(c, p, k, t);
    p = nl + 1; n -= k + 1;
  }
}
static void on_read(conn *c) {
  static char buf[262144];
  ssize_t r = recv(c->fd, buf, sizeof buf, MSG_DONTWAIT); uint64_t t = now_us();
  if (r < 0) { if (errno == EAGAIN) return; fail(c); return; }
  if (r == 0) { if (c->state == 2 && c->closed_body) { close(c->fd); open_conn(c); finish(c, t); return; } if (c->state == 0) { close(c->fd); open_conn(c); return; } fail(c); return; }
  char *p = buf; size_t n = (size_t)r;
  if (c->state == 0) return;
  if (c->state == 1) {
    size_t old = c->hl, room = sizeof c->head - 1 - old, k0 = n < room ? n : room; memcpy(c->head + old, p, k0); c->hl += k0;
    c->head[c->hl] = 0; char *he = memmem(c->head, c->hl, "\r\n\r\n", 4); if (!he) { if (c->hl == sizeof c->head - 1) fail(c); return; }
    size_t hl = (size_t)(he - c->head) + 4; c->status = atoi(c->head + 9); c->left = -1;
    for (char *q = c->head; q < he; ) { char *nx = memmem(q, (size_t)(he + 2 - q), "\r\n", 2); if (!nx) break;
      if (!strncasecmp(q, "content-length:", 15)) c->left = (int64_t)strtoull(q + 15, NULL, 10);
      else if (!strncasecmp(q, "transfer-encoding:", 18) && memmem(q, (size_t)(nx - q), "chunked", 7)) c->chunked = 1;
      q = nx + 2; }
    if (!c->chunked && c->left < 0) c->closed_body = 1;
    size_t skip = hl - old; p += skip; n -= skip; c->state = 2;
    if (!c->chunked && c->left == 0) { finish(c, t); return; }
  }
  if (!c->chunked) {
    if (c->closed_body) { body_bytes(c, p, n, t); return; }
    size_t k = (int64_t)n > c->left ? (size_t)c->left : n; body_bytes(c, p, k, t); c->left -= (int64_t)k; if (!c->left) finish(c, t); return;
  }
  /* chunked: cs 0 = size line, 1 = size line ext, 2 = data, 3 = CRLF after data, 4 = trailer */
  while (n) {
    switch (c->cs) {
      case 0: { char ch = *p++; n--; int v = ch >= '0' && ch <= '9' ? ch - '0' : (ch | 32) >= 'a' && (ch | 32) <= 'f' ? (ch | 32) - 'a' + 10 : -1;
        if (v >= 0) c->csize = c->csize * 16 + (uint64_t)v; else if (ch == '\n') { if (c->csize) { c->cs = 2; } else { c->cs = 4; c->junk = 0; } } else c->cs = ch == '\r' ? 0 : 1; break; }
      case 1: { char ch = *p++; n--; if (ch == '\n') { if (c->csize) c->cs = 2; else { c->cs = 4; c->junk = 0; } } break; }
      case 2: { size_t k = n < c->csize ? n : (size_t)c->csize; body_bytes(c, p, k, t); p += k; n -= k; c->csize -= k; if (!c->csize) c->cs = 3; break; }
      case 3: { char ch = *p++; n--; if (ch == '\n') { c->cs = 0; c->csize = 0; } break; }
      case 4: { char ch = *p++; n--; if (ch == '\n') { if (!c->junk) { finish(c, t); return; } c->junk = 0; } else if (ch != '\r') c->junk++; break; }
    }
  }
}

typedef struct { double cpu_u, cpu_s, rss, hwm; } pstat;
/* CPU time of all threads in us, from schedstat: ns, where the clock ticks of stat are 10 ms. -1 when the kernel has none. */
static double exact_cpu_us(const char *pid) {
  char f[320]; snprintf(f, sizeof f, "/proc/%s/task", pid); DIR *d = opendir(f); if (!d) return -1;
  double sum = -1; struct dirent *e;
  while ((e = readdir(d))) {
    if (e->d_name[0] == '.') continue;
    snprintf(f, sizeof f, "/proc/%s/task/%s/schedstat", pid, e->d_name); FILE *fp = fopen(f, "r"); if (!fp) continue;
    unsigned long long ns = 0; if (fscanf(fp, "%llu", &ns) == 1) sum = (sum < 0 ? 0 : sum) + (double)ns / 1e3;
    fclose(fp);
  }
  closedir(d); return sum;
}
static pstat read_pids(const char *list) {
  pstat s = {0}; if (!list) return s; char *l = strdup(list), *save;
  for (char *t = strtok_r(l, ",", &save); t; t = strtok_r(NULL, ",", &save)) {
    char f[64], b[4096]; snprintf(f, sizeof f, "/proc/%s/stat", t); FILE *fp = fopen(f, "r"); if (!fp) continue;
    size_t n = fread(b, 1, sizeof b - 1, fp); b[n] = 0; fclose(fp); char *q = strrchr(b, ')'); unsigned long u = 0, st = 0; long rss = 0;
    if (q) sscanf(q + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d %*d %*u %*u %ld", &u, &st, &rss);
    double tick = 1e6 / (double)sysconf(_SC_CLK_TCK), exact = exact_cpu_us(t), user = (double)u * tick;
    s.cpu_u += user; s.cpu_s += exact < 0 ? (double)st * tick : exact - user; s.rss += (double)rss * (double)sysconf(_SC_PAGESIZE) / 1048576.0;
  }
  free(l); return s;
}
static double sys_busy(double *steal) { FILE *f = fopen("/proc/stat", "r"); unsigned long long u = 0, n = 0, s = 0, i = 0, w = 0, q = 0, sq = 0, st = 0; if (fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &u, &n, &s, &i, &w, &q, &sq, &st) < 8) {} fclose(f); *steal = (double)st * 1e4; return (double)(u + n + s + q + sq) * 1e4; }

static uint64_t rs = 88172645463325252ull;
static double rnd(void) { rs ^= rs << 13; rs ^= rs >> 7; rs ^= rs << 17; return ((double)(rs >> 11) + 0.5) / 9007199254740992.0; }

int main(int argc, char **argv) {
  char *url = NULL, *bf = NULL, *pids = NULL, *others = NULL, *name = "run"; double dur = 5, warm = 1; int o; char hdrs[8192] = ""; int spread = 0;
  while ((o = getopt(argc, argv, "u:b:c:d:w:r:sp:o:n:H:x:")) != -1) switch (o) {
    case 'u': url = optarg; break; case 'b': bf = optarg; break; case 'c': nc = atoi(optarg); break; case 'd': dur = atof(optarg); break; case 'w': warm = atof(optarg); break;
    case 'r': rate = atof(optarg); break; case 's': sse = 1; break; case 'p': pids = optarg; break; case 'o': others = optarg; break; case 'n': name = optarg; break;
    case 'x': spread = atoi(optarg); break; /* closed loop: start the connections over this many ms */
    case 'H': if (strlen(hdrs) + strlen(optarg) + 3 < sizeof hdrs) { strcat(hdrs, optarg); strcat(hdrs, "\r\n"); } break; default: return 2; }
  char host[256], path[1024] = "/"; int port = 80;
  if (!url || sscanf(url, "http://%255[^:/]:%d%1023s", host, &port, path) < 2) { fprintf(stderr, "-u http://127.0.0.1:PORT/path\n"); return 2; }
  addr.sin_family = AF_INET; addr.sin_port = htons((uint16_t)port); if (inet_pton(AF_INET, host, &addr.sin_addr) != 1) { fprintf(stderr, "numeric host only\n"); return 2; }
  char *body = NULL; size_t bl = 0; if (bf) { FILE *f = fopen(bf, "r"); if (!f) { perror(bf); return 2; } body = malloc(1 << 24); bl = fread(body, 1, 1 << 24, f); fclose(f); }
  req = malloc(bl + 16384);
  if (body) { int k = sprintf(req, "POST %s HTTP/1.1\r\nhost: %s:%d\r\ncontent-type: application/json\r\naccept: %s\r\nuser-agent: load/1\r\n%scontent-length: %zu\r\n\r\n", path, host, port, sse ? "text/event-stream" : "application/json", hdrs, bl); memcpy(req + k, body, bl); reqlen = (size_t)k + bl; }
  else reqlen = (size_t)sprintf(req, "GET %s HTTP/1.1\r\nhost: %s:%d\r\n%s\r\n", path, host, port, hdrs);
  signal(SIGPIPE, SIG_IGN); signal(SIGINT, onsig); signal(SIGTERM, onsig); prctl(PR_SET_TIMERSLACK, 1UL);
  ep = epoll_create1(EPOLL_CLOEXEC); C = calloc((size_t)nc, sizeof *C); idle = calloc((size_t)nc, sizeof *idle); pcap = 1 << 20; pend = malloc(pcap * sizeof *pend);
  for (int i = 0; i < nc; i++) open_conn(&C[i]);
  uint64_t t = now_us(), begin = t; w0 = t + (uint64_t)(warm * 1e6); w1 = w0 + (uint64_t)(dur * 1e6); uint64_t hard = w1 + 3000000;
  double next = (double)t; int launched = 0;
  if (rate > 0) for (int i = 0; i < nc; i++) idle_push(&C[i]);
  else if (!spread) for (; launched < nc; launched++) start(&C[launched], now_us());
  pstat a = {0}, b = {0}, oa = {0}, ob = {0}, sa = {0}, sb = {0}; int got0 = 0, got1 = 0; double ba = 0, bb = 0, sta = 0, stb = 0, tw0 = 0, tw1 = 0; char self[32]; sprintf(self, "%d", getpid());
  struct epoll_event evs[512]; size_t maxpend = 0;
  while (!stop) {
    t = now_us();
    if (!got0 && t >= w0) { a = read_pids(pids); oa = read_pids(others); sa = read_pids(self); ba = sys_busy(&sta); got0 = 1; tw0 = (double)now_us(); }
    if (!got1 && t >= w1) { b = read_pids(pids); ob = read_pids(others); sb = read_pids(self); bb = sys_busy(&stb); got1 = 1; tw1 = (double)now_us(); if (rate <= 0 || in_ == nc) break; }
    if (t >= hard) break;
    if (got1 && in_ == nc && !pn) break;
    if (spread && rate <= 0 && launched < nc) { int goal = (int)((double)(t - begin) / 1000.0 / spread * nc); if (goal > nc) goal = nc; for (; launched < goal; launched++) start(&C[launched], now_us()); }
    if (rate > 0 && t < w1) while (next <= (double)t) {
      if (in_) { int k = idle[ih]; ih = (ih + 1) % nc; in_--; start(&C[k], (uint64_t)next); } else if (pn < pcap) { pend[pt] = (uint64_t)next; pt = (pt + 1) % pcap; pn++; if (pn > maxpend) maxpend = pn; } else dropped++;
      next += -log(rnd()) * 1e6 / rate;
    }
    uint64_t wake = !got0 ? w0 : !got1 ? w1 : hard; if (rate > 0 && t < w1 && next < (double)wake) wake = (uint64_t)next; if (spread && launched < nc && wake > t + 1000) wake = t + 1000;
    t = now_us(); uint64_t d = wake > t ? wake - t : 0; struct timespec ts = { (time_t)(d / 1000000), (long)(d % 1000000) * 1000 };
    int n = epoll_pwait2(ep, evs, 512, &ts, NULL);
    for (int i = 0; i < n; i++) { conn *c = evs[i].data.ptr; if (evs[i].events & EPOLLOUT) pump_send(c); if (evs[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) on_read(c); }
  }
  double secs = (tw1 - tw0) / 1e6; double cpu = (b.cpu_u + b.cpu_s) - (a.cpu_u + a.cpu_s), cu = b.cpu_u - a.cpu_u; double rig = (ob.cpu_u + ob.cpu_s - oa.cpu_u - oa.cpu_s), me = (sb.cpu_u + sb.cpu_s - sa.cpu_u - sa.cpu_s);
  double foreign = (bb - ba) - cpu - rig - me; double rq = done_w ? (double)done_w : 1, en = ev_w ? (double)ev_w : 1;
  printf("{\"name\":\"%s\",\"secs\":%.2f,\"conns\":%d,\"rate\":%.0f,\"reqs\":%llu,\"rps\":%.1f,\"cpu_us_req\":%.2f,\"user_us_req\":%.2f,\"gw_cpu_pct\":%.1f,\"rss_mb\":%.1f,\"p50_us\":%.0f,\"p90_us\":%.0f,\"p99_us\":%.0f,\"p999_us\":%.0f,\"max_us\":%llu,\"mean_us\":%.0f,", name, secs, nc, rate, (unsigned long long)done_w, (double)done_w / secs, cpu / rq, cu / rq, cpu / secs / 1e4, b.rss, h_q(&H, .5), h_q(&H, .9), h_q(&H, .99), h_q(&H, .999), (unsigned long long)H.max, H.n ? H.sum / (double)H.n : 0.0);
  if (sse) printf("\"events\":%llu,\"eps\":%.0f,\"cpu_us_event\":%.3f,\"ttfb_p50_us\":%.0f,\"ttfb_p99_us\":%.0f,\"delta_p50_us\":%.0f,\"delta_p99_us\":%.0f,\"delta_n\":%llu,", (unsigned long long)ev_w, (double)ev_w / secs, cpu / en, h_q(&F, .5), h_q(&F, .99), h_q(&D, .5), h_q(&D, .99), (unsigned long long)D.n);
  printf("\"mb_s\":%.1f,\"non200\":%llu,\"errors\":%llu,\"backlog_max\":%zu,\"rig_cpu_pct\":%.1f,\"load_cpu_pct\":%.1f,\"foreign_cpu_pct\":%.1f,\"steal_pct\":%.1f}\n", (double)bytes_w / secs / 1e6, (unsigned long long)non200, (unsigned long long)errs, maxpend, rig / secs / 1e4, me / secs / 1e4, foreign / secs / 1e4, (stb - sta) / secs / 1e4);
  return non200 || errs || !done_w ? 1 : 0;
}
