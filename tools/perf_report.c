// SPDX-License-Identifier: GPL-2.0-only
/*
 * Results as text, JSON or CSV.  A row is a list of cells, which are the same for
 * every row of one run of the program.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

#define CELLS_MAX	32
#define NOTE_BYTES	96
#define MB		1e6
#define WIDTH		10

/**
 * struct cell - a figure of a row
 * @name: with its unit, as JSON has it
 * @value: NAN when it cannot be told
 * @digits: behind the point
 * @note: why it cannot
 */
struct cell {
	const char	*name;
	double		value;
	int		digits;
	char		note[NOTE_BYTES];
};

struct row {
	struct cell	cells[CELLS_MAX];
	int		n;
};

static int rows_printed;
static char notes[CELLS_MAX][NOTE_BYTES + 32];
static int nr_notes;

static struct cell *add(struct row *r, const char *name, double value, int digits)
{
	struct cell *c = &r->cells[r->n];

	if (r->n < CELLS_MAX - 1)
		r->n++;
	c->name = name;
	c->value = value;
	c->digits = digits;
	c->note[0] = 0;
	return c;
}

static void add_latencies(struct row *r, const struct perf_hist *h)
{
	static const char * const names[PERF_QUANTILES] = {
		"p50_us", "p90_us", "p95_us", "p99_us", "p99.9_us",
	};
	uint64_t v;
	int i;

	add(r, "min_us", h->count ? (double)h->min / 1e3 : 0, 2);
	add(r, "mean_us", perf_hist_mean(h) / 1e3, 2);
	for (i = 0; i < PERF_QUANTILES; i++) {
		const struct perf_quantile *q = &perf_quantiles[i];
		bool told = perf_hist_quantile(h, q, &v);
		struct cell *c = add(r, names[i], told ? (double)v / 1e3 : NAN, 2);

		if (!told)
			snprintf(c->note, sizeof(c->note), "%llu samples, %llu are needed",
				 (unsigned long long)h->count, (unsigned long long)q->need);
	}
	add(r, "max_us", (double)h->max / 1e3, 2);
}

static void add_bandwidth(struct row *r, const struct perf_total *t)
{
	if (t->o.gbits)
		add(r, "bw_Gbps", (double)t->res.bytes * 8 / t->seconds / 1e9, 3);
	else
		add(r, "bw_MBps", (double)t->res.bytes / t->seconds / MB, 2);
}

static void add_cpu(struct row *r, const struct perf_total *t)
{
	double n = (double)t->res.operations;

	add(r, "cpu_us_per_op", n > 0 ? t->cpu * 1e6 / n : 0, 2);
}

static void make_flow(struct row *r, const struct perf_total *t)
{
	add_bandwidth(r, t);
	add(r, "rate_kmsgps", (double)t->res.messages / t->seconds / 1e3, 3);
	if (!strcmp(t->o.test, "incast")) {
		add(r, "slowest_MBps", t->slowest / MB, 2);
		add(r, "fastest_MBps", t->fastest / MB, 2);
		add(r, "fairness", t->fairness, 4);
	}
	if (!strcmp(t->o.test, "streams"))
		add(r, "ratio", t->ratio, 4);
	add_cpu(r, t);
}

static void make_open(struct row *r, const struct perf_total *t)
{
	add(r, "load_percent", t->load, 0);
	add(r, "offered_ops", t->o.rate, 2);
	add(r, "achieved_ops", (double)t->res.operations / t->seconds, 2);
	add_bandwidth(r, t);
	add_latencies(r, &t->res.hist);
	add(r, "late", (double)t->res.late, 0);
	add_cpu(r, t);
}

static void make_row(struct row *r, const struct perf_total *t)
{
	r->n = 0;
	add(r, "bytes", t->o.size, 0);
	add(r, "ops", (double)t->res.operations, 0);
	add(r, "streams", (double)t->o.streams * t->o.procs, 0);
	add(r, "procs", t->o.procs, 0);
	if (!strcmp(t->o.test, "lat") || !strcmp(t->o.test, "connect")) {
		add_latencies(r, &t->res.hist);
		add(r, "ops_per_s", (double)t->res.operations / t->seconds, 2);
		add_cpu(r, t);
	} else if (!strcmp(t->o.test, "fetch") || !strcmp(t->o.test, "push")) {
		make_open(r, t);
	} else {
		make_flow(r, t);
	}
	if (t->o.net.check)
		add(r, "checked", (double)t->res.checked, 0);
}

/* Each once, however many rows it is true of. */
static void keep_note(const struct cell *c)
{
	int i;

	if (!c->note[0] || nr_notes == CELLS_MAX)
		return;
	snprintf(notes[nr_notes], sizeof(notes[0]), "%s: n/a: %s", c->name, c->note);
	for (i = 0; strcmp(notes[i], notes[nr_notes]); i++)
		;
	nr_notes += i == nr_notes;
}

static int width_of(const struct cell *c)
{
	int n = (int)strlen(c->name);

	return n > WIDTH ? n : WIDTH;
}

static void print_text(const struct row *r)
{
	int i;

	for (i = 0; i < r->n && !rows_printed; i++)
		printf(" %*s", width_of(&r->cells[i]), r->cells[i].name);
	if (!rows_printed)
		printf("\n");
	for (i = 0; i < r->n; i++) {
		const struct cell *c = &r->cells[i];

		if (isnan(c->value))
			printf(" %*s", width_of(c), "n/a");
		else
			printf(" %*.*f", width_of(c), c->digits, c->value);
		keep_note(c);
	}
	printf("\n");
}

static void print_csv(const struct perf_total *t, const struct row *r)
{
	int i;

	if (!rows_printed) {
		printf("transport,test");
		for (i = 0; i < r->n; i++)
			printf(",%s", r->cells[i].name);
		printf("\n");
	}
	printf("%s,%s", perf_net_name, t->o.test);
	for (i = 0; i < r->n; i++) {
		if (isnan(r->cells[i].value))
			printf(",n/a");
		else
			printf(",%.*f", r->cells[i].digits, r->cells[i].value);
	}
	printf("\n");
}

static void print_json(const struct row *r)
{
	int i;

	printf("%s\n  {", rows_printed ? "," : "");
	for (i = 0; i < r->n; i++) {
		const struct cell *c = &r->cells[i];

		printf("%s\"%s\": ", i ? ", " : "", c->name);
		if (isnan(c->value))
			printf("null, \"%s_why\": \"%s\"", c->name, c->note);
		else
			printf("%.*f", c->digits, c->value);
	}
	printf("}");
}

/**
 * perf_report_begin() - before the first row
 * @o: the command line
 */
void perf_report_begin(const struct perf_opts *o)
{
	rows_printed = 0;
	nr_notes = 0;
	if (o->format == PERF_JSON)
		printf("{\"transport\": \"%s\", \"test\": \"%s\", \"bidirectional\": %s,\n"
		       " \"quantile_error\": \"1/%u\", \"rows\": [", perf_net_name, o->test,
		       o->bidirectional ? "true" : "false", PERF_HIST_SUB);
}

/**
 * perf_report_row() - one result
 * @t: of perf_run()
 */
void perf_report_row(const struct perf_total *t)
{
	struct row r;

	make_row(&r, t);
	if (t->o.format == PERF_JSON)
		print_json(&r);
	else if (t->o.format == PERF_CSV)
		print_csv(t, &r);
	else
		print_text(&r);
	rows_printed++;
	fflush(stdout);
}

/**
 * perf_report_end() - after the last row
 * @o: the command line
 */
void perf_report_end(const struct perf_opts *o)
{
	int i;

	if (o->format == PERF_JSON)
		printf("\n ]}\n");
	for (i = 0; o->format == PERF_TEXT && i < nr_notes; i++)
		printf("# %s\n", notes[i]);
	fflush(stdout);
}
