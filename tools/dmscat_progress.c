// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmscat: what is told on stderr.
 */
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "dmscat.h"

static double seconds_since(uint64_t start_ns)
{
	return (double)(dmastream_now_ns() - start_ns) / 1e9;
}

/* "12.3 MB": units of 1000, as disks and networks count. */
static const char *human(double v, const char *unit, char *buf, size_t size)
{
	static const char *const prefix[] = { "", "k", "M", "G", "T", "P" };
	size_t i = 0;

	while (v >= 999.5 && i < 5) {
		v /= 1000;
		i++;
	}
	snprintf(buf, size, i ? "%.1f %s%s" : "%.0f %s%s", v, prefix[i], unit);
	return buf;
}

void cat_progress_start(struct cat *cat, uint64_t total)
{
	struct cat_progress *p = &cat->progress;

	memset(p, 0, sizeof(*p));
	p->start_ns = dmastream_now_ns();
	p->moved_ns = p->start_ns;
	p->total = total;
	p->terminal = !cat->o.quiet && isatty(STDERR_FILENO);
}

void cat_progress_moved(struct cat *cat, uint64_t bytes, uint64_t messages)
{
	cat->progress.bytes += bytes;
	cat->progress.messages += messages;
	cat->progress.moved_ns = dmastream_now_ns();
}

/* One line that is written over and over; @last leaves it there. */
void cat_progress_show(struct cat *cat, bool last)
{
	struct cat_progress *p = &cat->progress;
	uint64_t now = dmastream_now_ns();
	char bytes[32], rate[32];
	double t, left;

	if (!p->terminal || (last && !p->shown) ||
	    (!last && now - p->shown_ns < CAT_TICK_MS * 1000000ULL))
		return;
	t = seconds_since(p->start_ns);
	p->shown_ns = now;
	p->shown = true;
	fprintf(stderr, "\r\033[K%s  %s",
		human((double)p->bytes, "B", bytes, sizeof(bytes)),
		human(t > 0 ? (double)p->bytes / t : 0, "B/s", rate, sizeof(rate)));
	if (p->total && p->bytes <= p->total) {
		fprintf(stderr, "  %.0f %%",
			100.0 * (double)p->bytes / (double)p->total);
		left = p->bytes ? t * (double)(p->total - p->bytes) / (double)p->bytes : -1;
		if (!last && left >= 0)
			fprintf(stderr, "  %u:%02u left", (unsigned int)left / 60,
				(unsigned int)left % 60);
	}
	if (last)
		fputc('\n', stderr);
	fflush(stderr);
}

/* The words and their order are in dmscat(1): they stay. */
void cat_summary(struct cat *cat, int error)
{
	struct cat_progress *p = &cat->progress;
	double t = p->start_ns ? seconds_since(p->start_ns) : 0;
	char bytes[32], rate[32], peer[DMASTREAM_ADDR_TEXT];

	cat_progress_show(cat, true);
	if (cat->o.json) {
		fprintf(stderr, "{\"role\":\"%s\",\"ok\":%s,\"errno\":%d,\"bytes\":%llu,\"seconds\":%.6f,\"messages\":%llu,\"direct_bytes\":%llu,\"peer\":\"%s\"}\n",
			cat->o.listen ? "receive" : "send",
			error ? "false" : "true", error < 0 ? -error : error,
			(unsigned long long)p->bytes, t,
			(unsigned long long)p->messages,
			(unsigned long long)cat->file.direct_bytes,
			dmastream_addr_text(&cat->err.peer, peer, sizeof(peer)));
		return;
	}
	if (!cat->o.verbose || !p->start_ns)
		return;
	fprintf(stderr, "dmscat: %s in %.3f s, %s, %llu messages\n",
		human((double)p->bytes, "B", bytes, sizeof(bytes)), t,
		human(t > 0 ? (double)p->bytes / t : 0, "B/s", rate, sizeof(rate)),
		(unsigned long long)p->messages);
}

static void line_begin(struct cat *cat)
{
	if (cat->progress.shown)
		fprintf(stderr, "\r\033[K");
	fprintf(stderr, "dmscat: ");
}

/* With -v only. */
void cat_note(struct cat *cat, const char *fmt, ...)
{
	va_list ap;

	if (!cat->o.verbose)
		return;
	line_begin(cat);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

void cat_error(struct cat *cat, const char *what, int error)
{
	char buf[DMASTREAM_EXPLAIN_TEXT];

	line_begin(cat);
	fprintf(stderr, "%s: %s\n", what,
		dmastream_explain(error, &cat->err, buf, sizeof(buf)));
}
