// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmssim: a binary heap of events.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dmssim_event.h"

void *sim_alloc(size_t size)
{
	void *p = calloc(1, size);

	if (!p) {
		fprintf(stderr, "dmssim: out of memory; try fewer hosts or messages\n");
		exit(1);
	}
	return p;
}

void *sim_realloc(void *old, size_t size)
{
	void *p = realloc(old, size);

	if (!p) {
		fprintf(stderr, "dmssim: out of memory; try fewer hosts or messages\n");
		exit(1);
	}
	return p;
}

void sim_events_init(struct sim_events *q)
{
	memset(q, 0, sizeof(*q));
	q->room = 1024;
	q->heap = sim_alloc(q->room * sizeof(*q->heap));
}

void sim_events_free(struct sim_events *q)
{
	free(q->heap);
	q->heap = NULL;
}

/* By number too: what happens at one time happens in the order of its making. */
static bool earlier(const struct sim_event *a, const struct sim_event *b)
{
	return a->at != b->at ? a->at < b->at : a->num < b->num;
}

void sim_after(struct sim_events *q, uint64_t after, sim_event_fn fn, void *obj, void *arg)
{
	struct sim_event e = { q->now + after, q->made++, fn, obj, arg };
	size_t i, up;

	if (q->nr == q->room) {
		q->room *= 2;
		q->heap = sim_realloc(q->heap, q->room * sizeof(*q->heap));
	}
	for (i = q->nr++; i; i = up) {
		up = (i - 1) / 2;
		if (!earlier(&e, &q->heap[up]))
			break;
		q->heap[i] = q->heap[up];
	}
	q->heap[i] = e;
}

static void remove_first(struct sim_events *q)
{
	struct sim_event last = q->heap[--q->nr];
	size_t i = 0, down;

	while ((down = 2 * i + 1) < q->nr) {
		if (down + 1 < q->nr && earlier(&q->heap[down + 1], &q->heap[down]))
			down++;
		if (!earlier(&q->heap[down], &last))
			break;
		q->heap[i] = q->heap[down];
		i = down;
	}
	q->heap[i] = last;
}

bool sim_step(struct sim_events *q)
{
	struct sim_event e;

	if (!q->nr)
		return false;
	e = q->heap[0];
	remove_first(q);
	q->now = e.at;
	q->done++;
	e.fn(e.obj, e.arg);
	return true;
}
