// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmssim: what is printed.  Every line says that it is of a simulation.
 */
#include <errno.h>
#include <string.h>

#include "dmssim.h"

static FILE *out_open(const char *file, const struct sim_run *r, const char *columns)
{
	FILE *f = fopen(file, "w");

	if (!f) {
		fprintf(stderr, "dmssim: %s: %s\n", file, strerror(errno));
		return NULL;
	}
	fprintf(f, "# simulation by dmssim: %s, %u hosts, seed %llu\n%s\n", r->o->pattern,
		r->o->fabric.hosts, (unsigned long long)r->o->load.seed, columns);
	return f;
}

int sim_open_files(struct sim_run *r)
{
	if (r->o->csv) {
		r->csv = out_open(r->o->csv, r, "from,to,bytes,start_ns,end_ns");
		if (!r->csv)
			return 1;
	}
	if (r->o->series) {
		r->series = out_open(r->o->series, r,
				     "time_ns,buffer_bytes,queue0_bytes,paused_hosts,budget0_bytes");
		if (!r->series)
			return 1;
	}
	return 0;
}

static int out_close(FILE *f, const char *file)
{
	if (!f)
		return 0;
	if (ferror(f) | fclose(f)) {
		fprintf(stderr, "dmssim: %s: cannot be written\n", file);
		return 1;
	}
	return 0;
}

int sim_close_files(struct sim_run *r)
{
	return out_close(r->csv, r->o->csv) | out_close(r->series, r->o->series);
}

void sim_series_row(struct sim_run *r)
{
	uint32_t i, paused = 0;

	for (i = 0; i < r->fabric.conf.hosts; i++)
		paused += r->fabric.nic[i].paused;
	fprintf(r->series, "%llu,%llu,%llu,%u,%llu\n",
		(unsigned long long)sim_now_ns(&r->events), (unsigned long long)r->fabric.used,
		(unsigned long long)r->fabric.port[0].queued, paused,
		(unsigned long long)r->hosts.host[0].budget.used);
}

/* ---- the report: each figure once, as text or as JSON ---- */

struct out {
	bool	json;
	int	members;	/* of the object, or words of the line, so far */
};

static void out_name(struct out *o, const char *name)
{
	if (o->json)
		printf("%s\"%s\":", o->members++ ? "," : "", name);
	else
		printf("%s%s ", o->members++ ? ", " : "", name);
}

static void out_group(struct out *o, const char *name)
{
	if (o->json)
		printf(",\"%s\":{", name);
	else
		printf("simulation: %s: ", name);
	o->members = 0;
}

static void out_end(struct out *o)
{
	printf(o->json ? "}" : "\n");
	o->members = 1;
}

static void out_u64(struct out *o, const char *name, uint64_t v)
{
	out_name(o, name);
	printf("%llu", (unsigned long long)v);
}

/* @v below 0: cannot be told */
static void out_double(struct out *o, const char *name, double v, int digits)
{
	out_name(o, name);
	if (v >= 0)
		printf("%.*f", digits, v);
	else
		printf(o->json ? "null" : "-");
}

static void out_text(struct out *o, const char *name, const char *v)
{
	out_name(o, name);
	printf(o->json ? "\"%s\"" : "%s", v);
}

static void out_samples(struct out *o, const char *name, struct sim_samples *s)
{
	out_group(o, name);
	out_u64(o, "count", s->nr);
	out_double(o, "mean_us", sim_samples_mean(s), 2);
	out_double(o, "p50_us", sim_samples_part(s, 0.5), 2);
	out_double(o, "p99_us", sim_samples_part(s, 0.99), 2);
	out_double(o, "p999_us", sim_samples_part(s, 0.999), 2);
	out_double(o, "max_us", sim_samples_max(s), 2);
	out_end(o);
}

static void out_what(struct out *o, struct sim_run *r)
{
	double s = (double)r->events.now / 1e12;

	out_group(o, "run");
	out_text(o, "pattern", r->o->pattern);
	out_text(o, "workload", r->o->workload ? r->o->workload : "sizes");
	out_u64(o, "hosts", r->o->fabric.hosts);
	out_u64(o, "seed", r->o->load.seed);
	out_double(o, "load", r->o->load.load, 2);
	out_double(o, "simulated_ms", s * 1e3, 3);
	out_u64(o, "events", r->events.done);
	out_u64(o, "bytes", r->hosts.counts.bytes);
	out_double(o, "gbit_s", s > 0 ? (double)r->hosts.counts.bytes * 8 / s / 1e9 : 0, 2);
	out_end(o);
}

static void out_fabric(struct out *o, struct sim_run *r)
{
	const struct sim_fabric *f = &r->fabric;
	uint64_t queue = 0;
	uint32_t i;

	for (i = 0; i < f->conf.hosts; i++)
		if (f->port[i].queued_max > queue)
			queue = f->port[i].queued_max;
	out_group(o, "switch");
	out_u64(o, "packets", f->packets);
	out_u64(o, "buffer_max_bytes", f->used_max);
	out_u64(o, "queue_max_bytes", queue);
	out_u64(o, "pauses", f->pauses);
	out_double(o, "paused_us", (double)sim_paused_ps(f) / 1e6, 1);
	out_u64(o, "ecn_marks", f->marks);
	out_end(o);
}

static void out_window(struct out *o, struct sim_run *r)
{
	uint64_t grown = 0, cuts = 0, low = UINT64_MAX, high = 0;
	const struct sim_hosts *h = &r->hosts;
	size_t i;

	for (i = 0; i < (size_t)h->nr * h->nr; i++) {
		const struct sim_path *p = h->path[i];

		if (!p || !p->window.limit || !p->window.high)
			continue;
		grown += p->delay.grown;
		cuts += p->delay.cuts;
		if (p->window.limit < low)
			low = p->window.limit;
		if (p->window.limit > high)
			high = p->window.limit;
	}
	out_group(o, "window");
	out_u64(o, "stalls", h->counts.window_stalls);
	out_u64(o, "grown", grown);
	out_u64(o, "cuts", cuts);
	out_u64(o, "least_bytes", high ? low : 0);
	out_u64(o, "most_bytes", high);
	out_end(o);
}

static void out_budget(struct out *o, struct sim_run *r)
{
	uint64_t high = 0, aged = 0;
	uint32_t i;

	for (i = 0; i < r->hosts.nr; i++) {
		if (r->hosts.host[i].budget.high > high)
			high = r->hosts.host[i].budget.high;
		aged += r->hosts.host[i].pulls.aged;
	}
	out_group(o, "budget");
	out_u64(o, "bytes", r->o->host.budget);
	out_u64(o, "high_bytes", high);
	out_u64(o, "waits", r->hosts.counts.budget_waits);
	out_u64(o, "aged", aged);
	out_end(o);
}

static void out_paths(struct out *o, struct sim_run *r)
{
	const struct sim_counts *c = &r->hosts.counts;

	out_group(o, "paths");
	out_u64(o, "eager", c->eager);
	out_u64(o, "announced", c->announced);
	out_u64(o, "reads", c->reads);
	out_u64(o, "sends", c->packets);
	out_u64(o, "frames", c->packed);
	out_u64(o, "slot_stalls", c->slot_stalls);
	out_u64(o, "credit_stalls", c->credit_stalls);
	out_u64(o, "key_stalls", c->key_stalls);
	out_u64(o, "rnr", c->rnr);
	out_u64(o, "receives_grown", c->grown);
	out_u64(o, "receives_recalled", c->recalled);
	out_u64(o, "empty_packets", c->empties);
	out_end(o);
}

void sim_report(struct sim_run *r)
{
	struct out o = { r->o->json, 0 };

	if (o.json)
		printf("{\"simulation\":true");
	out_what(&o, r);
	out_samples(&o, "messages", &r->load.msgs);
	out_samples(&o, "works", &r->load.whole);
	out_fabric(&o, r);
	out_window(&o, r);
	out_budget(&o, r);
	out_paths(&o, r);
	if (r->o->load.backlog) {
		out_group(&o, "fairness");
		out_double(&o, "jain", r->load.jain, 5);
		out_end(&o);
	}
	if (o.json)
		printf("}\n");
}
