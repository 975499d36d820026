// SPDX-License-Identifier: GPL-2.0-only
/*
 * The wire format of what is not a packet: messages of a session's connection, private data of
 * rdma_cm.
 */
#include "dms_test.h"
#include "core/wire.h"
#include "test_wire.h"

static u8 msg_buf[2048];

TEST(wire_msg_headers)
{
	static const struct {
		u32 magic, type, version, len, reserved;
		enum dms_rule want;
	} rows[] = {
		{ DMS_WIRE_MAGIC, DMS_MSG_HELLO, 1, HELLO, 0, DMS_RULE_NONE },
		{ DMS_WIRE_MAGIC, DMS_MSG_HELLO, 1, HELLO_1, 0, DMS_RULE_NONE },
		{ DMS_WIRE_MAGIC, DMS_MSG_HELLO, 1, HELLO_1 - 1, 0, DMS_RULE_LENGTH },
		{ DMS_WIRE_MAGIC, DMS_MSG_HELLO, 1, HELLO + 1, 0, DMS_RULE_NONE },
		{ DMS_WIRE_MAGIC, DMS_MSG_HELLO, 1, DMS_MSG_BODY_MAX, 0, DMS_RULE_NONE },
		{ DMS_WIRE_MAGIC, DMS_MSG_HELLO, 1, DMS_MSG_BODY_MAX + 1, 0, DMS_RULE_LENGTH },
		{ DMS_WIRE_MAGIC, DMS_MSG_HELLO, 1, U32_MAX, 0, DMS_RULE_LENGTH },
		{ DMS_WIRE_MAGIC, DMS_MSG_HELLO, 1, 0, 0, DMS_RULE_LENGTH },
		{ DMS_WIRE_MAGIC, DMS_MSG_HELLO, 0, HELLO, 0, DMS_RULE_TYPE },
		{ DMS_WIRE_MAGIC, DMS_MSG_HELLO, DMS_WIRE_VERSION_MAX + 1, HELLO, 0,
		  DMS_RULE_TYPE },
		{ DMS_WIRE_MAGIC, DMS_MSG_HELLO, 1, HELLO, 1, DMS_RULE_FLAGS },
		{ DMS_WIRE_MAGIC, DMS_MSG_HELLO, 1, HELLO, 0x80000000, DMS_RULE_FLAGS },
		{ DMS_WIRE_MAGIC + 1, DMS_MSG_HELLO, 1, HELLO, 0, DMS_RULE_TYPE },
		{ 0x20544547, DMS_MSG_HELLO, 1, HELLO, 0, DMS_RULE_TYPE },	/* "GET " */
		{ DMS_WIRE_MAGIC, DMS_MSG_REFUSE, 1, 24, 0, DMS_RULE_NONE },
		{ DMS_WIRE_MAGIC, DMS_MSG_REFUSE, 1, 23, 0, DMS_RULE_LENGTH },
		{ DMS_WIRE_MAGIC, DMS_MSG_REFUSE, 1, 25, 0, DMS_RULE_LENGTH },
		{ DMS_WIRE_MAGIC, DMS_MSG_PING, 1, 8, 0, DMS_RULE_NONE },
		{ DMS_WIRE_MAGIC, DMS_MSG_PING, 1, 7, 0, DMS_RULE_LENGTH },
		{ DMS_WIRE_MAGIC, DMS_MSG_PING, 1, 9, 0, DMS_RULE_LENGTH },
		{ DMS_WIRE_MAGIC, DMS_MSG_PONG, 1, 8, 0, DMS_RULE_NONE },
		{ DMS_WIRE_MAGIC, DMS_MSG_PONG, 1, 0, 0, DMS_RULE_LENGTH },
		{ DMS_WIRE_MAGIC, DMS_MSG_BYE, 1, 0, 0, DMS_RULE_NONE },
		{ DMS_WIRE_MAGIC, DMS_MSG_BYE, 1, 1, 0, DMS_RULE_LENGTH },
		{ DMS_WIRE_MAGIC, 0, 1, 0, 0, DMS_RULE_TYPE },
		{ DMS_WIRE_MAGIC, DMS_MSG_PATH, 1, 8, 0, DMS_RULE_NONE },
		{ DMS_WIRE_MAGIC, DMS_MSG_PATH, 1, 7, 0, DMS_RULE_LENGTH },
		{ DMS_WIRE_MAGIC, DMS_MSG_PATH, 1, 9, 0, DMS_RULE_LENGTH },
		{ DMS_WIRE_MAGIC, DMS_MSG_PACKET, 1, 24, 0, DMS_RULE_LENGTH },
		{ DMS_WIRE_MAGIC, DMS_MSG_PACKET, 1, 25, 0, DMS_RULE_NONE },
		{ DMS_WIRE_MAGIC, DMS_MSG_PACKET, 1, 24 + DMS_SLOT_BYTES_CEIL, 0, DMS_RULE_NONE },
		{ DMS_WIRE_MAGIC, DMS_MSG_PACKET, 1, 25 + DMS_SLOT_BYTES_CEIL, 0, DMS_RULE_LENGTH },
		{ DMS_WIRE_MAGIC, DMS_MSG_READ, 1, 23, 0, DMS_RULE_LENGTH },
		{ DMS_WIRE_MAGIC, DMS_MSG_READ, 1, 24, 0, DMS_RULE_NONE },
		{ DMS_WIRE_MAGIC, DMS_MSG_READ, 1, 25, 0, DMS_RULE_LENGTH },
		{ DMS_WIRE_MAGIC, DMS_MSG_DATA, 1, 24, 0, DMS_RULE_LENGTH },
		{ DMS_WIRE_MAGIC, DMS_MSG_DATA, 1, 25, 0, DMS_RULE_NONE },
		{ DMS_WIRE_MAGIC, DMS_MSG_WRITE, 1, 24 + DMS_MOVE_BYTES_MAX, 0, DMS_RULE_NONE },
		{ DMS_WIRE_MAGIC, DMS_MSG_WRITE, 1, 25 + DMS_MOVE_BYTES_MAX, 0, DMS_RULE_LENGTH },
		{ DMS_WIRE_MAGIC, DMS_MSG_WRITE + 1, 1, 0, 0, DMS_RULE_TYPE },
		{ DMS_WIRE_MAGIC, 0xffff, 1, 0, 0, DMS_RULE_TYPE },
	};
	u32 i, len;
	u16 type;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		put32(msg_buf, rows[i].magic);
		put16(msg_buf + 4, rows[i].type);
		put16(msg_buf + 6, rows[i].version);
		put32(msg_buf + 8, rows[i].len);
		put32(msg_buf + 12, rows[i].reserved);
		EXPECT_EQ(dms_wire_msg_parse(msg_buf, &type, &len), rows[i].want);
		if (rows[i].want == DMS_RULE_NONE) {
			EXPECT_EQ(type, rows[i].type);
			EXPECT_EQ(len, rows[i].len);
		}
	}
}

static void good_hello(struct dms_hello *h)
{
	memset(h, 0, sizeof(*h));
	h->version_min = 1;
	h->version_max = 0x0102;
	h->epoch = 0x01020304;
	h->features = 0x1122334455667788ULL;
	fill(h->nonce, sizeof(h->nonce), 0x10);
	fill(h->session, sizeof(h->session), 0x20);
	fill(h->cookie, sizeof(h->cookie), 0x30);
	h->eager_max = 0x2000;
	h->slot_bytes = 0x4050;
	h->slots = 0x0180;
	h->reads = 0x0010;
	h->keepalive_ms = 0x01020305;
	h->listen_port = 0x1d35;
	h->rdma_port = 0x1d36;
	h->qps = 2;
	h->addrs = 2;
	fill(h->addr[0], 32, 0x40);
	strcpy(h->name, "node a");
	h->auth_alg = 7;
	h->auth_len = 3;
	fill(h->auth, 3, 0x70);
	h->qps_latency = 0x0103;
}

TEST(wire_hello_golden)
{
	static const u8 want[] = {
		'D', 'M', 'S', '1', 1, 0, 1, 0, 0x30, 0x01, 0, 0, 0, 0, 0, 0,
		0x01, 0x00, 0x02, 0x01, 0x04, 0x03, 0x02, 0x01,
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
		0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17,
		0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f,
		0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27,
		0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f,
		0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37,
		0x38, 0x39, 0x3a, 0x3b, 0x3c, 0x3d, 0x3e, 0x3f,
		0x00, 0x20, 0, 0, 0x50, 0x40, 0, 0, 0x80, 0x01, 0, 0, 0x10, 0, 0, 0,
		0x05, 0x03, 0x02, 0x01, 0x35, 0x1d, 0x36, 0x1d, 2, 0, 2, 0, 0, 0, 0, 0,
		0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47,
		0x48, 0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f,
		0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57,
		0x58, 0x59, 0x5a, 0x5b, 0x5c, 0x5d, 0x5e, 0x5f,
	};
	static struct dms_hello h;
	u32 i;

	good_hello(&h);
	/* what is not used is not sent */
	memset(h.addr[2], 0xee, 32);
	memset(h.auth + 3, 0xee, sizeof(h.auth) - 3);
	memset(h.name + 7, 0xee, sizeof(h.name) - 7);
	memset(msg_buf, 0xff, sizeof(msg_buf));
	EXPECT_EQ(dms_wire_hello_put(msg_buf, &h), MSG + HELLO);
	for (i = 0; i < sizeof(want); i++) {
		test_row(i);
		EXPECT_EQ(msg_buf[i], want[i]);
	}
	for (; i < MSG + HELLO; i++) {
		test_row(i);
		if (i >= MSG + 160 && i < MSG + 166)
			EXPECT_EQ(msg_buf[i], "node a"[i - MSG - 160]);
		else if (i == MSG + 224)
			EXPECT_EQ(msg_buf[i], 7);
		else if (i == MSG + 228)
			EXPECT_EQ(msg_buf[i], 3);
		else if (i >= MSG + 232 && i < MSG + 235)
			EXPECT_EQ(msg_buf[i], 0x70 + i - MSG - 232);
		else if (i == MSG + HELLO_1)
			EXPECT_EQ(msg_buf[i], 3);
		else if (i == MSG + HELLO_1 + 1)
			EXPECT_EQ(msg_buf[i], 1);
		else
			EXPECT_EQ(msg_buf[i], 0);
	}
	EXPECT_EQ(msg_buf[i], 0xff);
}

TEST(wire_hello_roundtrip)
{
	static struct dms_hello h, got;
	u32 len;
	u16 type;

	good_hello(&h);
	dms_wire_hello_put(msg_buf, &h);
	EXPECT_EQ(dms_wire_msg_parse(msg_buf, &type, &len), DMS_RULE_NONE);
	EXPECT_EQ(type, DMS_MSG_HELLO);
	memset(&got, 0, sizeof(got));
	EXPECT_EQ(dms_wire_hello_parse(msg_buf + MSG, len, &got), DMS_RULE_NONE);
	EXPECT_EQ(memcmp(&h, &got, sizeof(h)), 0);

	/* a name that no peer would take, and one without an end */
	memset(h.name, 'x', sizeof(h.name));
	h.name[0] = '\n';
	h.name[1] = '\x7f';
	h.name[2] = '\xc3';
	h.name[3] = ' ';
	h.name[4] = '~';
	dms_wire_hello_put(msg_buf, &h);
	EXPECT_EQ(dms_wire_hello_parse(msg_buf + MSG, HELLO, &got), DMS_RULE_NONE);
	EXPECT_EQ(memcmp(got.name, "??? ~x", 6), 0);
	EXPECT_EQ(strlen(got.name), DMS_WIRE_NAME_MAX - 1);

	/* counts that are too large write no more than there is */
	good_hello(&h);
	h.addrs = 0xffff;
	h.auth_len = U32_MAX;
	memset(msg_buf, 0xff, sizeof(msg_buf));
	EXPECT_EQ(dms_wire_hello_put(msg_buf, &h), MSG + HELLO);
	EXPECT_EQ(msg_buf[MSG + HELLO], 0xff);
	EXPECT_EQ(dms_wire_hello_parse(msg_buf + MSG, HELLO, &got), DMS_RULE_NONE);
	EXPECT_EQ(got.addrs, DMS_WIRE_ADDRS);
	EXPECT_EQ(got.auth_len, DMS_WIRE_AUTH_MAX);
}

TEST(wire_hello_lengths)
{
	static struct dms_hello h;
	u32 len;
	u8 *p;

	good_hello(&h);
	memset(msg_buf, 0xaa, sizeof(msg_buf));
	dms_wire_hello_put(msg_buf, &h);
	for (len = 0; len <= DMS_MSG_BODY_MAX + 1; len++) {
		test_row(len);
		p = test_alloc(len);
		EXPECT_TRUE(p);
		if (!p)
			return;
		memcpy(p, msg_buf + MSG, len);
		h.qps_latency = 0xeeee;
		if (len < HELLO_1)
			EXPECT_EQ(dms_wire_hello_parse(p, len, &h), DMS_RULE_SHORT);
		else if (len <= DMS_MSG_BODY_MAX)	/* one that has grown */
			EXPECT_EQ(dms_wire_hello_parse(p, len, &h), DMS_RULE_NONE);
		else
			EXPECT_EQ(dms_wire_hello_parse(p, len, &h), DMS_RULE_LENGTH);
		/* half a field is none */
		if (len >= HELLO_1 && len < HELLO_1 + 2)
			EXPECT_EQ(h.qps_latency, 0);
		else if (len >= HELLO_1 + 2 && len <= DMS_MSG_BODY_MAX)
			EXPECT_EQ(h.qps_latency, 0x0103);
		test_free(p);
	}
}

/* offset and size in the body, value, answer */
static const struct {
	u32 at, size, value;
	enum dms_rule want;
} hello_rows[] = {
	{ 0, 2, 0, DMS_RULE_TYPE },			/* version_min */
	{ 0, 2, 0x0102, DMS_RULE_NONE },
	{ 0, 2, 0x0103, DMS_RULE_TYPE },
	{ 2, 2, 1, DMS_RULE_NONE },			/* version_max */
	{ 2, 2, 0, DMS_RULE_TYPE },
	{ 2, 2, 0xffff, DMS_RULE_NONE },
	{ 64, 4, DMS_EAGER_FLOOR, DMS_RULE_NONE },	/* eager_max */
	{ 64, 4, DMS_EAGER_FLOOR - 1, DMS_RULE_LENGTH },
	{ 64, 4, 0, DMS_RULE_LENGTH },
	{ 64, 4, 0x4050 - 64, DMS_RULE_NONE },
	{ 64, 4, 0x4050 - 63, DMS_RULE_LENGTH },	/* does not fit a slot */
	{ 64, 4, U32_MAX, DMS_RULE_LENGTH },
	{ 64, 4, U32_MAX - 64, DMS_RULE_LENGTH },
	{ 68, 4, 0x2000 + 64, DMS_RULE_NONE },		/* slot_bytes */
	{ 68, 4, 0x2000 + 63, DMS_RULE_LENGTH },
	{ 68, 4, DMS_SLOT_BYTES_CEIL, DMS_RULE_NONE },
	{ 68, 4, DMS_SLOT_BYTES_CEIL + 1, DMS_RULE_LENGTH },
	{ 68, 4, U32_MAX, DMS_RULE_LENGTH },
	{ 72, 4, DMS_SLOTS_FLOOR, DMS_RULE_NONE },	/* slots */
	{ 72, 4, DMS_SLOTS_FLOOR - 1, DMS_RULE_LENGTH },
	{ 72, 4, DMS_SLOTS_CEIL, DMS_RULE_NONE },
	{ 72, 4, DMS_SLOTS_CEIL + 1, DMS_RULE_LENGTH },
	{ 76, 4, 0, DMS_RULE_LENGTH },			/* reads */
	{ 76, 4, 1, DMS_RULE_NONE },
	{ 76, 4, DMS_READS_CEIL, DMS_RULE_NONE },
	{ 76, 4, DMS_READS_CEIL + 1, DMS_RULE_LENGTH },
	{ 80, 4, U32_MAX, DMS_RULE_NONE },		/* keepalive_ms */
	{ 84, 2, 0, DMS_RULE_NONE },			/* listen_port */
	{ 88, 2, 0, DMS_RULE_LENGTH },			/* qps */
	{ 88, 2, 1, DMS_RULE_NONE },
	{ 90, 2, 1, DMS_RULE_FLAGS },			/* addrs; the second is there */
	{ 90, 2, 0, DMS_RULE_FLAGS },
	{ 90, 2, DMS_WIRE_ADDRS, DMS_RULE_NONE },
	{ 90, 2, DMS_WIRE_ADDRS + 1, DMS_RULE_LENGTH },
	{ 90, 2, 0xffff, DMS_RULE_LENGTH },
	{ 92, 4, 1, DMS_RULE_FLAGS },			/* reserved */
	{ 92, 4, 0x80000000, DMS_RULE_FLAGS },
	{ 128, 1, 1, DMS_RULE_FLAGS },			/* addr[2] */
	{ 159, 1, 1, DMS_RULE_FLAGS },			/* end of addr[3] */
	{ 160, 1, '\n', DMS_RULE_TYPE },		/* name */
	{ 160, 1, 0x7f, DMS_RULE_TYPE },
	{ 160, 1, 0x80, DMS_RULE_TYPE },
	{ 160, 1, 0, DMS_RULE_TYPE },			/* something after the NUL */
	{ 166, 1, 'x', DMS_RULE_NONE },
	{ 167, 1, 'x', DMS_RULE_TYPE },
	{ 223, 1, 'x', DMS_RULE_TYPE },
	{ 224, 4, 0, DMS_RULE_LENGTH },			/* auth_alg none, but auth_len */
	{ 224, 4, U32_MAX, DMS_RULE_NONE },
	{ 228, 4, 2, DMS_RULE_FLAGS },			/* auth_len; 3 are there */
	{ 228, 4, DMS_WIRE_AUTH_MAX, DMS_RULE_NONE },
	{ 228, 4, DMS_WIRE_AUTH_MAX + 1, DMS_RULE_LENGTH },
	{ 228, 4, U32_MAX, DMS_RULE_LENGTH },
	{ 235, 1, 1, DMS_RULE_FLAGS },			/* after auth */
	{ 295, 1, 1, DMS_RULE_FLAGS },
	{ 296, 2, 0, DMS_RULE_NONE },			/* qps_latency */
	{ 296, 2, 0xffff, DMS_RULE_NONE },
	{ 298, 2, 1, DMS_RULE_NONE },			/* of a later version */
	{ 303, 1, 1, DMS_RULE_NONE },
};

TEST(wire_hello_ranges)
{
	static struct dms_hello h;
	u32 i;
	u8 *p = msg_buf + MSG;

	for (i = 0; i < ARRAY_SIZE(hello_rows); i++) {
		test_row(i);
		good_hello(&h);
		dms_wire_hello_put(msg_buf, &h);
		if (hello_rows[i].size == 4)
			put32(p + hello_rows[i].at, hello_rows[i].value);
		else if (hello_rows[i].size == 2)
			put16(p + hello_rows[i].at, hello_rows[i].value);
		else
			p[hello_rows[i].at] = hello_rows[i].value & 0xff;
		EXPECT_EQ(dms_wire_hello_parse(p, HELLO, &h), hello_rows[i].want);
	}

	/* the largest eager messages in the largest slots */
	test_row(-1);
	good_hello(&h);
	h.eager_max = DMS_EAGER_CEIL;
	h.slot_bytes = DMS_SLOT_BYTES_CEIL;
	dms_wire_hello_put(msg_buf, &h);
	EXPECT_EQ(dms_wire_hello_parse(p, HELLO, &h), DMS_RULE_NONE);
	put32(p + 64, DMS_EAGER_CEIL + 1);
	EXPECT_EQ(dms_wire_hello_parse(p, HELLO, &h), DMS_RULE_LENGTH);

	/* nothing that is not needed */
	good_hello(&h);
	h.name[0] = 0;
	h.addrs = 0;
	h.auth_alg = 0;
	h.auth_len = 0;
	dms_wire_hello_put(msg_buf, &h);
	EXPECT_EQ(dms_wire_hello_parse(p, HELLO, &h), DMS_RULE_NONE);

	/* a name that fills the field has no end */
	memset(p + 160, 'x', DMS_WIRE_NAME_MAX);
	EXPECT_EQ(dms_wire_hello_parse(p, HELLO, &h), DMS_RULE_TYPE);
	p[160 + DMS_WIRE_NAME_MAX - 1] = 0;
	EXPECT_EQ(dms_wire_hello_parse(p, HELLO, &h), DMS_RULE_NONE);
}

TEST(wire_short_messages)
{
	static const u8 refuse[] = {
		'D', 'M', 'S', '1', 2, 0, 1, 0, 24, 0, 0, 0, 0, 0, 0, 0,
		4, 3, 2, 1, 8, 7, 6, 5,
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
	};
	static const u8 pong[] = {
		'D', 'M', 'S', '1', 4, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0,
		8, 7, 6, 5, 4, 3, 2, 1,
	};
	static const u8 bye[] = { 'D', 'M', 'S', '1', 5, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
	u32 len, reason = 0, detail = 0;
	u8 nonce[DMS_WIRE_NONCE];
	u64 stamp = 0;
	u16 type;
	u8 *p;

	memset(msg_buf, 0xff, sizeof(msg_buf));
	EXPECT_EQ(dms_wire_refuse_put(msg_buf, 0x01020304, 0x05060708, refuse + 24), 40);
	EXPECT_EQ(memcmp(msg_buf, refuse, 40), 0);
	EXPECT_EQ(msg_buf[40], 0xff);
	EXPECT_EQ(dms_wire_refuse_parse(refuse + MSG, 24, &reason, &detail, nonce), DMS_RULE_NONE);
	EXPECT_EQ(reason, 0x01020304);
	EXPECT_EQ(detail, 0x05060708);
	EXPECT_EQ(memcmp(nonce, refuse + 24, 16), 0);

	memset(msg_buf, 0xff, sizeof(msg_buf));
	EXPECT_EQ(dms_wire_ping_put(msg_buf, DMS_MSG_PONG, 0x0102030405060708ULL), 24);
	EXPECT_EQ(memcmp(msg_buf, pong, 24), 0);
	EXPECT_EQ(msg_buf[24], 0xff);
	EXPECT_EQ(dms_wire_ping_parse(pong + MSG, 8, &stamp), DMS_RULE_NONE);
	EXPECT_TRUE(stamp == 0x0102030405060708ULL);

	memset(msg_buf, 0xff, sizeof(msg_buf));
	EXPECT_EQ(dms_wire_bye_put(msg_buf), MSG);
	EXPECT_EQ(memcmp(msg_buf, bye, MSG), 0);
	EXPECT_EQ(dms_wire_msg_parse(msg_buf, &type, &len), DMS_RULE_NONE);
	EXPECT_EQ(type, DMS_MSG_BYE);
	EXPECT_EQ(len, 0);

	for (len = 0; len < 30; len++) {
		test_row(len);
		p = test_alloc(len);
		EXPECT_TRUE(p);
		if (!p)
			return;
		memset(p, 1, len);
		EXPECT_EQ(dms_wire_refuse_parse(p, len, &reason, &detail, nonce),
			  len < 24 ? DMS_RULE_SHORT : len > 24 ? DMS_RULE_LENGTH : DMS_RULE_NONE);
		EXPECT_EQ(dms_wire_ping_parse(p, len, &stamp),
			  len < 8 ? DMS_RULE_SHORT : len > 8 ? DMS_RULE_LENGTH : DMS_RULE_NONE);
		test_free(p);
	}
}

TEST(wire_path_words)
{
	static const u8 off[] = {
		'D', 'M', 'S', '1', 6, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0,
		4, 3, 2, 1, 0xff, 2, 0, 0,
	};
	static const struct {
		u32 at;
		u8 value;
		enum dms_rule want;
	} rows[] = {
		{ 4, 0, DMS_RULE_NONE },
		{ 5, 0, DMS_RULE_TYPE },
		{ 5, DMS_PATH_DOWN, DMS_RULE_NONE },
		{ 5, DMS_PATH_OFF, DMS_RULE_NONE },
		{ 5, DMS_PATH_TCP, DMS_RULE_NONE },
		{ 5, DMS_PATH_TCP + 1, DMS_RULE_TYPE },
		{ 5, 0xff, DMS_RULE_TYPE },
		{ 6, 1, DMS_RULE_FLAGS },
		{ 7, 0x80, DMS_RULE_FLAGS },
	};
	struct dms_path_msg msg = { .epoch = 0x01020304, .index = 0xff, .word = DMS_PATH_OFF };
	struct dms_path_msg got = {};
	u8 body[8];
	u32 i, len;
	u8 *p;

	memset(msg_buf, 0xff, sizeof(msg_buf));
	EXPECT_EQ(dms_wire_path_put(msg_buf, &msg), sizeof(off));
	EXPECT_EQ(memcmp(msg_buf, off, sizeof(off)), 0);
	EXPECT_EQ(msg_buf[sizeof(off)], 0xff);
	for (len = 0; len <= 10; len++) {
		test_row(len);
		p = test_alloc(len);
		EXPECT_TRUE(p);
		if (!p)
			return;
		memcpy(p, msg_buf + MSG, len);
		EXPECT_EQ(dms_wire_path_parse(p, len, &got), len < 8 ? DMS_RULE_SHORT :
			  len > 8 ? DMS_RULE_LENGTH : DMS_RULE_NONE);
		test_free(p);
	}
	EXPECT_EQ(got.epoch, 0x01020304);
	EXPECT_EQ(got.index, 0xff);
	EXPECT_EQ(got.word, DMS_PATH_OFF);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(100 + i);
		memcpy(body, off + MSG, sizeof(body));
		body[rows[i].at] = rows[i].value;
		EXPECT_EQ(dms_wire_path_parse(body, sizeof(body), &got), rows[i].want);
	}
}

TEST(wire_moves_put)
{
	static const u8 want[] = {
		'D', 'M', 'S', '1', 10, 0, 1, 0, 0x28, 0, 0, 0, 0, 0, 0, 0,
		4, 3, 2, 1, 7, 0, 0x0b, 0x0a, 0x44, 0x33, 0x22, 0x11, 0x10, 0, 0, 0,
		8, 7, 6, 5, 4, 3, 2, 1,
	};
	struct dms_move move = {
		.epoch = 0x01020304, .index = 7, .read = 0x0a0b, .rkey = 0x11223344,
		.len = 16, .addr = 0x0102030405060708ULL,
	};
	struct dms_move got = {};

	memset(msg_buf, 0xff, sizeof(msg_buf));
	EXPECT_EQ(dms_wire_move_put(msg_buf, DMS_MSG_WRITE, &move, 16), sizeof(want));
	EXPECT_EQ(memcmp(msg_buf, want, sizeof(want)), 0);
	EXPECT_EQ(msg_buf[sizeof(want)], 0xff);
	move.read = 0;
	dms_wire_move_put(msg_buf, DMS_MSG_WRITE, &move, 16);
	EXPECT_EQ(dms_wire_move_parse(msg_buf + MSG, DMS_MSG_WRITE, 40, &got), DMS_RULE_NONE);
	EXPECT_EQ(got.epoch, move.epoch);
	EXPECT_EQ(got.index, move.index);
	EXPECT_EQ(got.read, 0);
	EXPECT_EQ(got.rkey, move.rkey);
	EXPECT_EQ(got.len, move.len);
	EXPECT_EQ(got.addr, move.addr);
}

TEST(wire_moves_parse)
{
	static const struct {
		u16 type;
		u32 len;
		struct dms_move move;
		enum dms_rule want;
	} rows[] = {
		{ DMS_MSG_PACKET, 100, { .epoch = 1 }, DMS_RULE_NONE },
		{ DMS_MSG_PACKET, 100, { .read = 1 }, DMS_RULE_FLAGS },
		{ DMS_MSG_PACKET, 100, { .rkey = 1 }, DMS_RULE_FLAGS },
		{ DMS_MSG_PACKET, 100, { .len = 76 }, DMS_RULE_FLAGS },
		{ DMS_MSG_PACKET, 100, { .addr = 1 }, DMS_RULE_FLAGS },
		{ DMS_MSG_READ, 24, { .read = 0xffff, .rkey = ~0U, .len = ~0U, .addr = ~0ULL },
		  DMS_RULE_NONE },
		{ DMS_MSG_READ, 24, { .rkey = 1 }, DMS_RULE_LENGTH },
		{ DMS_MSG_DATA, 34, { .read = 3, .len = 10, .addr = 5 }, DMS_RULE_NONE },
		{ DMS_MSG_DATA, 34, { .len = 9 }, DMS_RULE_LENGTH },
		{ DMS_MSG_DATA, 34, { .len = 11 }, DMS_RULE_LENGTH },
		{ DMS_MSG_DATA, 34, { .len = 10, .rkey = 1 }, DMS_RULE_FLAGS },
		{ DMS_MSG_WRITE, 34, { .len = 10, .rkey = 7, .addr = 5 }, DMS_RULE_NONE },
		{ DMS_MSG_WRITE, 34, { .len = 11 }, DMS_RULE_LENGTH },
		{ DMS_MSG_WRITE, 34, { .len = 10, .read = 1 }, DMS_RULE_FLAGS },
	};
	struct dms_move got;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		dms_wire_move_put(msg_buf, rows[i].type, &rows[i].move, rows[i].len - 24);
		EXPECT_EQ(dms_wire_move_parse(msg_buf + MSG, rows[i].type, rows[i].len, &got),
			  rows[i].want);
		msg_buf[MSG + 5] = 1;
		EXPECT_EQ(dms_wire_move_parse(msg_buf + MSG, rows[i].type, rows[i].len, &got),
			  DMS_RULE_FLAGS);
	}
}

TEST(wire_cm_data)
{
	static const u8 want[] = {
		'D', 'M', 'S', '1', 1, 0, 0x12, 0x34,
		0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27,
		0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f,
		0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37,
		0x38, 0x39, 0x3a, 0x3b, 0x3c, 0x3d, 0x3e, 0x3f,
		0x80, 0x01, 0x34, 0x02,
		0x78, 0x56, 0x34, 0x12,
	};
	static const struct {
		u32 at, value;
		enum dms_rule want;
	} rows[] = {
		{ 0, 0x4d45, DMS_RULE_TYPE },
		{ 2, 0x3153 ^ 0x8000, DMS_RULE_TYPE },
		{ 4, 0, DMS_RULE_TYPE },
		{ 4, DMS_WIRE_VERSION_MIN, DMS_RULE_NONE },
		{ 4, DMS_WIRE_VERSION_MAX, DMS_RULE_NONE },
		{ 4, DMS_WIRE_VERSION_MAX + 1, DMS_RULE_TYPE },
		{ 6, 0xffff, DMS_RULE_NONE },
		{ 40, DMS_SLOTS_FLOOR, DMS_RULE_NONE },
		{ 40, DMS_SLOTS_FLOOR - 1, DMS_RULE_LENGTH },
		{ 40, 0x234, DMS_RULE_NONE },
		{ 40, 0x235, DMS_RULE_LENGTH },		/* more than slots_max */
		{ 42, 0, DMS_RULE_NONE },		/* does not move */
		{ 42, 1, DMS_RULE_LENGTH },
		{ 42, 0x17f, DMS_RULE_LENGTH },
		{ 42, 0x180, DMS_RULE_NONE },
		{ 42, DMS_SLOTS_CEIL, DMS_RULE_NONE },
		{ 42, DMS_SLOTS_CEIL + 1, DMS_RULE_LENGTH },
	};
	struct dms_cm cm = { .version = 1, .lane = 0x12, .index = 0x34, .slots = 0x180,
			     .slots_max = 0x234, .epoch = 0x12345678 }, got;
	u32 i, len;
	u8 *p;

	fill(cm.session, 16, 0x20);
	fill(cm.cookie, 16, 0x30);
	memset(msg_buf, 0xff, sizeof(msg_buf));
	EXPECT_EQ(dms_wire_cm_put(msg_buf, &cm), sizeof(want));
	EXPECT_EQ(memcmp(msg_buf, want, sizeof(want)), 0);
	EXPECT_EQ(msg_buf[sizeof(want)], 0xff);

	/* connection managers hand over more than was sent */
	for (len = 0; len <= 56; len++) {
		test_row(len);
		p = test_alloc(len);
		EXPECT_TRUE(p);
		if (!p)
			return;
		memcpy(p, msg_buf, len);
		EXPECT_EQ(dms_wire_cm_parse(p, len, &got),
			  len < DMS_WIRE_CM_MIN ? DMS_RULE_SHORT : DMS_RULE_NONE);
		/* of the first version, which had no epoch */
		if (len >= DMS_WIRE_CM_MIN)
			EXPECT_EQ(got.epoch, len < sizeof(want) ? 0 : 0x12345678);
		test_free(p);
	}
	EXPECT_EQ(got.version, 1);
	EXPECT_EQ(got.lane, 0x12);
	EXPECT_EQ(got.index, 0x34);
	EXPECT_EQ(got.slots, 0x180);
	EXPECT_EQ(got.slots_max, 0x234);
	EXPECT_EQ(memcmp(got.session, cm.session, 16), 0);
	EXPECT_EQ(memcmp(got.cookie, cm.cookie, 16), 0);

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(100 + i);
		memcpy(msg_buf, want, sizeof(want));
		put16(msg_buf + rows[i].at, rows[i].value);
		EXPECT_EQ(dms_wire_cm_parse(msg_buf, sizeof(want), &got), rows[i].want);
	}
	for (i = DMS_SLOTS_CEIL; i <= DMS_SLOTS_CEIL + 1; i++) {
		test_row(i);
		put16(msg_buf + 40, i);
		put16(msg_buf + 42, 0);
		EXPECT_EQ(dms_wire_cm_parse(msg_buf, sizeof(want), &got),
			  i == DMS_SLOTS_CEIL ? DMS_RULE_NONE : DMS_RULE_LENGTH);
	}
}

TEST(wire_versions)
{
	static const struct {
		u16 a_min, a_max, b_min, b_max, want;
	} rows[] = {
		{ 1, 1, 1, 1, 1 },
		{ 1, 1, 2, 2, 0 },
		{ 1, 2, 2, 3, 2 },
		{ 1, 3, 2, 2, 2 },
		{ 1, 5, 1, 4, 4 },
		{ 3, 5, 1, 2, 0 },
		{ 3, 5, 1, 3, 3 },
		{ 1, 0xffff, 1, 0xffff, 0xffff },
		{ 0xffff, 0xffff, 1, 0xfffe, 0 },
	};
	static struct dms_hello a, b;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		a.version_min = rows[i].a_min;
		a.version_max = rows[i].a_max;
		b.version_min = rows[i].b_min;
		b.version_max = rows[i].b_max;
		EXPECT_EQ(dms_wire_version(&a, &b), rows[i].want);
		EXPECT_EQ(dms_wire_version(&b, &a), rows[i].want);
	}
}

TESTSET(dms_core_wire_msg,
	CASE(wire_msg_headers),
	CASE(wire_hello_golden),
	CASE(wire_hello_roundtrip),
	CASE(wire_hello_lengths),
	CASE(wire_hello_ranges),
	CASE(wire_short_messages),
	CASE(wire_path_words),
	CASE(wire_moves_put),
	CASE(wire_moves_parse),
	CASE(wire_cm_data),
	CASE(wire_versions));
