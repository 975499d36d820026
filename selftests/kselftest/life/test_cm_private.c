// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stranger at the module's rdma_cm port, who comes with librdmacm: private
 * data of every length, wrong magic, version, session, cookie and numbers (case
 * 30).  Each is refused and counted, nothing is kept, and streams work.
 */
#include "../kt.h"

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <sys/mman.h>

#include "life.h"

#define DATA_MAX	56
#define DATA_WHOLE	44	/* of the module's own */
#define CM_MAGIC	0x31534d44

/* As the module's: magic, version, lane, index, session, cookie, slots, zero. */
struct cm_data {
	uint32_t	magic;
	uint16_t	version;
	uint8_t		lane, index;
	uint8_t		session[16], cookie[16];
	uint16_t	slots, reserved;
	uint8_t		more[DATA_MAX - DATA_WHOLE];
};

static struct sockaddr_in module_port;

static int64_t refusals(void)
{
	return life_counter("auth") + life_counter("malformed") + life_counter("version") +
	       life_counter("limit") + life_counter("memory");
}

static struct rdma_cm_id *stranger(void)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct rdma_cm_id *id;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		return NULL;
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&module_port, 5000 * kt_scale()) ||
	    rdma_resolve_route(id, 5000 * kt_scale()) || rdma_create_qp(id, NULL, &attr)) {
		rdma_destroy_id(id);
		return NULL;
	}
	return id;
}

static void stranger_goes(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	rdma_destroy_id(id);
}

/* 0: refused, as it should be. */
static int knock(const void *data, unsigned int len, unsigned int depth)
{
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = len,
		.responder_resources = depth,
		.initiator_depth = depth,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct rdma_cm_id *id = stranger();
	int ret, err;

	if (!id)
		return -errno;
	ret = rdma_connect(id, &param);
	err = errno;
	stranger_goes(id);
	if (!ret)
		return 1;
	return err == ECONNREFUSED ? 0 : -err;
}

static struct cm_data good_looking(void)
{
	struct cm_data d = { .magic = CM_MAGIC, .version = 1, .slots = 256 };

	memset(d.session, 0x5a, sizeof(d.session));
	memset(d.cookie, 0xa5, sizeof(d.cookie));
	return d;
}

static unsigned int lengths(unsigned int step)
{
	unsigned int len, bad = 0, n = 0;
	struct cm_data d = good_looking();
	int err;

	for (len = 0; len <= DATA_MAX; len += step, n++) {
		err = knock(&d, len, 4);
		if (err) {
			printf("# %u bytes: %d\n", len, err);
			bad++;
		}
	}
	kt_is(bad, 0, "private data of %u lengths is refused", n);
	return n;
}

/* One thing is wrong; with the last one, that no READs are asked for. */
#define SPOILS	12

static void spoil(struct cm_data *d, unsigned int i)
{
	static const struct {
		unsigned char	at, len, value;
	} what[SPOILS] = {
		{ offsetof(struct cm_data, magic), 1, 0x45 },
		{ offsetof(struct cm_data, magic), 4, 0 },
		{ offsetof(struct cm_data, version), 2, 0 },
		{ offsetof(struct cm_data, version), 2, 0xff },
		{ offsetof(struct cm_data, lane), 1, 0xff },
		/* 0xff is a probe: answered, and nothing else */
		{ offsetof(struct cm_data, index), 1, 0xfe },
		{ offsetof(struct cm_data, slots), 2, 0 },
		{ offsetof(struct cm_data, slots), 2, 0xff },
		{ offsetof(struct cm_data, reserved), 1, 1 },
		{ offsetof(struct cm_data, cookie), 16, 0 },
		{ 0, sizeof(struct cm_data), 0xff },
	};

	memset((char *)d + what[i].at, what[i].value, what[i].len);
}

static unsigned int contents(void)
{
	unsigned int i, bad = 0;
	int err;

	for (i = 0; i < SPOILS; i++) {
		struct cm_data d = good_looking();
		unsigned int depth = 4;

		spoil(&d, i);
		if (i == SPOILS - 1)
			depth = 0;
		err = knock(&d, DATA_MAX, depth);
		if (err) {
			printf("# content %u: %d\n", i, err);
			bad++;
		}
	}
	kt_is(bad, 0, "private data of wrong content is refused");
	return i;
}

/* Those that ask and leave before the answer. */
static void hasty(unsigned int n)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct cm_data d = good_looking();
	struct rdma_conn_param param = { .private_data = &d, .private_data_len = DATA_MAX,
					 .responder_resources = 1, .initiator_depth = 1 };
	unsigned int i, asked = 0;

	for (i = 0; i < n; i++) {
		struct rdma_cm_id *id = stranger();

		if (!id)
			break;
		/* from here on it does not wait for an answer */
		if (!rdma_migrate_id(id, ch) && !rdma_connect(id, &param))
			asked++;
		stranger_goes(id);
	}
	rdma_destroy_event_channel(ch);
	kt_is(asked, n, "%u ask and leave before the answer", n);
}

int main(void)
{
	struct dmastream_addr self = life_self();
	int64_t before, want[LIFE_GAUGES];
	struct dmastream_listener *l;
	struct life_end a, b;
	uint32_t sa, sb;
	unsigned int n;
	bool ok;

	life_watchdog(120);
	module_port.sin_family = AF_INET;
	module_port.sin_port = htons(DMASTREAM_PORT);
	memcpy(&module_port.sin_addr, self.addr, 4);
	if (life_open(&a) || life_open(&b) || life_give_all(&b))
		kt_die("open");
	kt_ok(knock("x", 1, 1) != 1, "nobody is served while nobody listens");

	kt_is(life_link(&a, &b, &sa, &sb), 0, "a stream");
	/* the service of the link is closed again: one that stays */
	kt_is(dmastream_listen(b.ctx, "cm", 4, 0, &l), 0, "a service");
	before = refusals();
	n = lengths(life_count(1, 8));
	n += contents();
	kt_is(refusals() - before, n, "each was counted");
	hasty(life_count(20, 4));
	kt_is(life_pass(&a, sa, &b, 200000, 1), 0, "the stream lives");
	life_want(want, 2);
	want[LIFE_STREAMS] = 2;
	want[LIFE_LANDED] = LIFE_ANY;
	want[LIFE_SESSIONS] = 2;
	want[LIFE_PATHS] = 6;		/* both lanes, both ends */
	ok = life_settle(want, NULL);
	kt_ok(ok, "nothing else is kept");
	kt_is(life_offences(), 0, "nobody in a session broke the protocol");
	dmastream_listener_close(l);
	life_close(&a);
	life_close(&b);
	ok = life_empty(NULL);
	kt_ok(ok, "all gauges are 0");
	return kt_end();
}
