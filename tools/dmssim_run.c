// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmssim: one run from its beginning to its end, and the checks that it was right.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dmssim.h"

/* The terminal's line is looked at after so many events. */
#define PROGRESS_EVENTS	(1U << 18)

static void progress(const struct sim_run *r, bool last)
{
	static time_t shown;
	const struct sim_load *l = &r->load;
	double part;
	time_t now = time(NULL);

	if (r->o->quiet || !isatty(STDERR_FILENO) || (!last && now == shown))
		return;
	shown = now;
	if (last) {
		fprintf(stderr, "\r\033[K");
		return;
	}
	part = (double)l->works_done / (double)(l->conf.messages * l->nr_sources);
	fprintf(stderr, "\r\033[Ksimulation: %.3f ms simulated, %.0f %%",
		(double)r->events.now / 1e9, l->conf.backlog ?
		100.0 * (double)r->hosts.counts.bytes / (double)l->posted_bytes : 100 * part);
}

static void sample(void *obj, void *arg)
{
	struct sim_run *r = obj;

	(void)arg;
	sim_series_row(r);
	if (!sim_load_done(&r->load))
		sim_after(&r->events, r->o->every_ps, sample, r, NULL);
}

/* What must hold at the end of every run, whatever was simulated. */
static const char *wrong(const struct sim_run *r)
{
	const struct sim_counts *c = &r->hosts.counts;
	uint64_t out = 0, in = 0;
	uint32_t i;

	if (r->fabric.lost)
		return "the buffer overflowed, and repair is not modelled: use --pfc or --buffer";
	if (!sim_load_done(&r->load))
		return "stuck, not all was delivered: a fault of dmssim or of kmod/core";
	if (c->messages != r->load.posted_msgs || c->bytes != r->load.posted_bytes)
		return "what was delivered is not what was sent: a fault of dmssim";
	for (i = 0; i < r->fabric.conf.hosts; i++) {
		out += r->fabric.nic[i].out_payload;
		in += r->fabric.nic[i].in_payload;
		if (r->o->host.budget && r->hosts.host[i].budget.high > r->o->host.budget)
			return "more was being pulled than the budget: a fault of kmod/core";
		if (r->hosts.host[i].budget.used)
			return "budget was not given back: a fault of dmssim";
	}
	if (out != in || r->fabric.used)
		return "bytes were lost in the fabric: a fault of dmssim";
	if (c->rnr)
		return "a packet came without a credit: a fault of dmssim or of kmod/core";
	return NULL;
}

int sim_run(struct sim_run *r, const struct sim_opts *o)
{
	const char *what;

	memset(r, 0, sizeof(*r));
	r->o = o;
	sim_events_init(&r->events);
	sim_fabric_init(&r->fabric, &r->events, &o->fabric);
	sim_hosts_init(&r->hosts, &r->events, &r->fabric, o->fabric.hosts, &o->host);
	sim_load_init(&r->load, &r->hosts, &o->load);
	if (sim_open_files(r))
		return 1;
	r->load.csv = r->csv;
	if (r->series)
		sample(r, NULL);
	sim_load_start(&r->load);
	while (sim_step(&r->events) && !r->fabric.lost)
		if (!(r->events.done % PROGRESS_EVENTS))
			progress(r, false);
	progress(r, true);
	if (sim_close_files(r))
		return 1;
	what = wrong(r);
	if (what) {
		fprintf(stderr, "dmssim: simulation: after %.3f ms: %s\n",
			(double)r->events.now / 1e9, what);
		return 1;
	}
	return 0;
}

void sim_run_free(struct sim_run *r)
{
	sim_load_free(&r->load);
	sim_hosts_free(&r->hosts);
	sim_fabric_free(&r->fabric);
	sim_events_free(&r->events);
}
