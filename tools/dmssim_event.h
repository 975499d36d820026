/* SPDX-License-Identifier: GPL-2.0-only */
/* The simulator's clock: events in order of time, and of their making at one time. */
#ifndef DMSSIM_EVENT_H
#define DMSSIM_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_PS_PER_NS	1000ULL

typedef void (*sim_event_fn)(void *obj, void *arg);

struct sim_event {
	uint64_t	at;		/* ps */
	uint64_t	num;		/* of its making: no two are alike */
	sim_event_fn	fn;
	void		*obj, *arg;
};

struct sim_events {
	uint64_t	now;		/* ps */
	uint64_t	made, done;
	struct sim_event *heap;
	size_t		nr, room;
};

void sim_events_init(struct sim_events *q);
void sim_events_free(struct sim_events *q);
/* Calls fn(obj, arg) in @after ps. */
void sim_after(struct sim_events *q, uint64_t after, sim_event_fn fn, void *obj, void *arg);
/* The next one; false when there is none. */
bool sim_step(struct sim_events *q);
static inline uint64_t sim_now_ns(const struct sim_events *q)
{
	return q->now / SIM_PS_PER_NS;
}

/* Memory, or the end of the program. */
void *sim_alloc(size_t size);
void *sim_realloc(void *old, size_t size);

#endif /* DMSSIM_EVENT_H */
