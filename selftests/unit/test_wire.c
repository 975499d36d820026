// SPDX-License-Identifier: GPL-2.0-only
/*
 * The wire format.  Golden bytes, so that a change of layout is seen although
 * both directions change alike; every truncation; every corrupted byte.
 */
#include "dms_test.h"
#include "core/wire.h"

#define HEAD	32	/* of a packet, and of a frame */
#define MSG	16
#define HELLO	304
#define HELLO_1	296	/* of the first version */

static u8 wire_buf[2048];
static u8 wire_copy[2048];

static void put16(u8 *p, u32 v)
{
	p[0] = v & 0xff;
	p[1] = v >> 8 & 0xff;
}

static void put32(u8 *p, u32 v)
{
	put16(p, v & 0xffff);
	put16(p + 2, v >> 16);
}

static void fill(u8 *p, u32 n, u8 from)
{
	while (n--)
		*p++ = from++;
}

/*
 * Reads a packet the way the module does.  Returns the rule; when it is NONE,
 * adds to *@bad whatever is not as promised.  Touches each byte of each body,
 * for the sanitizers.
 */
static enum dms_rule walk(const u8 *buf, u32 len, u32 *bad)
{
	struct dms_pkt_cursor cur;
	struct dms_frame f;
	enum dms_rule rule;
	const u8 *body;
	u32 n = 0, i;
	u8 sum = 0;

	memset(&cur, 0, sizeof(cur));
	rule = dms_wire_pkt_parse(buf, len, &cur);
	if (rule != DMS_RULE_NONE) {
		*bad += rule != DMS_RULE_SHORT && rule != DMS_RULE_LENGTH &&
			rule != DMS_RULE_FLAGS && rule != DMS_RULE_TYPE;
		return rule;
	}
	body = buf + HEAD + cur.pkt.frames * HEAD;
	while (dms_wire_pkt_next(&cur, &f)) {
		n++;
		*bad += f.type >= DMS_F_MAX;
		if (!dms_wire_has_body(f.type)) {
			*bad += !!f.body;
			continue;
		}
		*bad += f.body != body || f.len > (u32)(buf + len - body);
		for (i = 0; i < f.len; i++)
			sum ^= f.body[i];
		body += f.len;
	}
	*bad += n != cur.pkt.frames || body != buf + len || (sum && !n);
	*bad += dms_wire_pkt_next(&cur, &f);
	return rule;
}

/* Frames of full_packet(). */
#define FULL	20

/* One frame of every type that has no body, two with, in the middle and at the end. */
static u32 full_packet(u8 *buf)
{
	struct dms_pkt pkt = { .frames = FULL, .lane = 1, .epoch = 7, .seq = 9, .credit = 100,
			       .body = DMS_WIRE_SERVICE_MAX + 5 };
	static const struct dms_frame frames[] = {
		{ .type = DMS_F_NOP },
		{ .type = DMS_F_CONNECT, .flags = DMS_FF_POSTED | DMS_FF_NOLARGE,
		  .len = DMS_WIRE_SERVICE_MAX, .a = 1, .b = 2 },
		{ .type = DMS_F_CONNECTED, .stream = 1, .a = 2 },
		{ .type = DMS_F_REFUSED, .stream = 1, .a = 2, .b = 3 },
		{ .type = DMS_F_ACCEPT, .flags = DMS_FF_NOLARGE, .stream = 1, .a = 2, .b = 3 },
		{ .type = DMS_F_DATA, .stream = 1, .seq = 2, .len = 0, .tag = 4 },
		{ .type = DMS_F_RTS, .stream = 1, .seq = 2, .len = DMS_WIRE_STREAM_MSG_MAX,
		  .tag = 4 },
		{ .type = DMS_F_KEY, .gen = 1, .stream = 1, .seq = 2, .len = 3, .tag = 4, .a = 5,
		  .b = 6 },
		{ .type = DMS_F_DONE, .stream = 1, .seq = 2, .a = 3 },
		{ .type = DMS_F_HOLD, .gen = 1, .stream = 1, .seq = 2, .a = 3 },
		{ .type = DMS_F_PULL, .gen = 1, .stream = 1, .seq = 2 },
		{ .type = DMS_F_UPDATE, .stream = 1, .seq = 2, .a = 3 },
		{ .type = DMS_F_NACK, .stream = 1, .seq = 2, .a = 3 },
		{ .type = DMS_F_FIN, .stream = 1, .seq = 2 },
		{ .type = DMS_F_RESET, .stream = 1, .seq = 4, .a = 2, .b = 3 },
		{ .type = DMS_F_RESET_ACK, .stream = 1, .seq = 4 },
		{ .type = DMS_F_RECALL, .stream = 1 },
		{ .type = DMS_F_RETURN, .stream = 1, .a = 2 },
		{ .type = DMS_F_SLOT_RECALL, .a = 2 },
		{ .type = DMS_F_DATA, .stream = 1, .seq = 3, .len = 5, .tag = U64_MAX },
	};
	u32 i, n;

	n = dms_wire_pkt_put(buf, &pkt);
	for (i = 0; i < ARRAY_SIZE(frames); i++)
		n += dms_wire_frame_put(buf + n, &frames[i]);
	fill(buf + n, pkt.body, 0x80);
	return n + pkt.body;
}

/* A packet of one frame, made by hand. */
static u32 one_frame(u8 *buf, u8 type, u32 len)
{
	bool has_body = type == DMS_F_DATA || type == DMS_F_CONNECT;

	memset(buf, 0, 2 * HEAD + (has_body ? len : 0));
	put16(buf, 1);
	put32(buf + 16, has_body ? len : 0);
	buf[HEAD] = type;
	put32(buf + HEAD + 12, len);
	return 2 * HEAD + (has_body ? len : 0);
}

TEST(wire_pkt_golden)
{
	static const u8 want[] = {
		0x34, 0x12, 0x56, 0x5a, 0x04, 0x03, 0x02, 0x01,
		0x14, 0x13, 0x12, 0x11, 0x24, 0x23, 0x22, 0x21,
		0x34, 0x33, 0x32, 0x31, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0x05, 0x03, 0x22, 0x11, 0xa4, 0xa3, 0xa2, 0xa1,
		0xb4, 0xb3, 0xb2, 0xb1, 0xc4, 0xc3, 0xc2, 0xc1,
		0xd8, 0xd7, 0xd6, 0xd5, 0xd4, 0xd3, 0xd2, 0xd1,
		0xe4, 0xe3, 0xe2, 0xe1, 0xf4, 0xf3, 0xf2, 0xf1,
	};
	static const struct dms_pkt pkt = {
		.frames = 0x1234, .lane = 0x56, .flags = 0x5a, .epoch = 0x01020304, .seq = 0x11121314,
		.credit = 0x21222324, .body = 0x31323334,
	};
	static const struct dms_frame frame = {
		.type = 5, .flags = 3, .gen = 0x1122, .stream = 0xa1a2a3a4, .seq = 0xb1b2b3b4,
		.len = 0xc1c2c3c4, .tag = 0xd1d2d3d4d5d6d7d8ULL, .a = 0xe1e2e3e4, .b = 0xf1f2f3f4,
	};
	u32 i;

	memset(wire_buf, 0xff, sizeof(wire_buf));
	EXPECT_EQ(dms_wire_pkt_put(wire_buf, &pkt), HEAD);
	EXPECT_EQ(dms_wire_frame_put(wire_buf + HEAD, &frame), HEAD);
	for (i = 0; i < sizeof(want); i++) {
		test_row(i);
		EXPECT_EQ(wire_buf[i], want[i]);
	}
	EXPECT_EQ(wire_buf[i], 0xff);
}

TEST(wire_pkt_fields)
{
	static const u8 bytes[2 * HEAD + 3] = {
		0x01, 0x00, 0x56, 0x01, 0x04, 0x03, 0x02, 0x01,
		0x14, 0x13, 0x12, 0x11, 0x24, 0x23, 0x22, 0x21,
		0x03, 0x00, 0x00, 0x00, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0x05, 0x00, 0x00, 0x00, 0xa4, 0xa3, 0xa2, 0xa1,
		0xb4, 0xb3, 0xb2, 0xb1, 0x03, 0x00, 0x00, 0x00,
		0xd8, 0xd7, 0xd6, 0xd5, 0xd4, 0xd3, 0xd2, 0xd1,
		0, 0, 0, 0, 0, 0, 0, 0, 'a', 'b', 'c',
	};
	struct dms_pkt_cursor cur;
	struct dms_frame f;

	EXPECT_EQ(dms_wire_pkt_parse(bytes, sizeof(bytes), &cur), DMS_RULE_NONE);
	EXPECT_EQ(cur.pkt.frames, 1);
	EXPECT_EQ(cur.pkt.lane, 0x56);
	EXPECT_EQ(cur.pkt.flags, DMS_PF_STALLED);
	EXPECT_EQ(cur.pkt.epoch, 0x01020304);
	EXPECT_EQ(cur.pkt.seq, 0x11121314);
	EXPECT_EQ(cur.pkt.credit, 0x21222324);
	EXPECT_EQ(cur.pkt.body, 3);
	memset(&f, 0xff, sizeof(f));
	EXPECT_TRUE(dms_wire_pkt_next(&cur, &f));
	EXPECT_EQ(f.type, DMS_F_DATA);
	EXPECT_EQ(f.flags, 0);
	EXPECT_EQ(f.gen, 0);
	EXPECT_EQ(f.stream, 0xa1a2a3a4);
	EXPECT_EQ(f.seq, 0xb1b2b3b4);
	EXPECT_EQ(f.len, 3);
	EXPECT_TRUE(f.tag == 0xd1d2d3d4d5d6d7d8ULL);
	EXPECT_EQ(f.a, 0);
	EXPECT_EQ(f.b, 0);
	EXPECT_TRUE(f.body == bytes + 2 * HEAD);
	EXPECT_FALSE(dms_wire_pkt_next(&cur, &f));
	EXPECT_FALSE(dms_wire_pkt_next(&cur, &f));
}

TEST(wire_pkt_roundtrip)
{
	u32 bad = 0, n = full_packet(wire_buf);
	struct dms_pkt_cursor cur;
	struct dms_frame f;
	u32 types = 0;

	EXPECT_EQ(walk(wire_buf, n, &bad), DMS_RULE_NONE);
	EXPECT_EQ(bad, 0);
	EXPECT_EQ(dms_wire_pkt_parse(wire_buf, n, &cur), DMS_RULE_NONE);
	while (dms_wire_pkt_next(&cur, &f)) {
		types |= 1U << f.type;
		/* written again it is the same */
		dms_wire_frame_put(wire_copy, &f);
		EXPECT_EQ(memcmp(wire_copy, cur.frame - HEAD, HEAD), 0);
	}
	EXPECT_EQ(types, (1U << DMS_F_MAX) - 1);
	EXPECT_EQ(f.seq, 3);
	EXPECT_EQ(f.body[4], 0x80 + DMS_WIRE_SERVICE_MAX + 4);
}

TEST(wire_pkt_truncated)
{
	u32 len, bad = 0, n = full_packet(wire_buf);
	enum dms_rule rule;
	u8 *p;

	for (len = 0; len <= n + 40; len++) {
		test_row(len);
		p = test_alloc(len);
		EXPECT_TRUE(p);
		if (!p)
			return;
		memcpy(p, wire_buf, len);
		rule = walk(p, len, &bad);
		if (len == n)
			EXPECT_EQ(rule, DMS_RULE_NONE);
		else if (len < HEAD + FULL * HEAD)
			EXPECT_EQ(rule, DMS_RULE_SHORT);
		else
			EXPECT_EQ(rule, DMS_RULE_LENGTH);
		test_free(p);
	}
	EXPECT_EQ(bad, 0);
}

/*
 * Whatever one byte becomes, a packet is refused, or is one that adds up.
 * Bytes that are neither data nor a field's value must be refused.
 */
TEST(wire_pkt_corrupted)
{
	u32 at, v, bad = 0, n = full_packet(wire_buf);
	enum dms_rule rule;
	u8 *p = test_alloc(n);

	EXPECT_TRUE(p);
	if (!p)
		return;
	memcpy(p, wire_buf, n);
	for (at = 0; at < n; at++) {
		for (v = 1; v < 256; v += at < HEAD ? 1 : 5) {
			test_row(at * 1000 + v);
			p[at] = wire_buf[at] ^ v;
			rule = walk(p, n, &bad);
			if (at < 2)			/* frames */
				EXPECT_TRUE(rule != DMS_RULE_NONE);
			else if ((at == 3 && v != DMS_PF_STALLED) || (at >= 20 && at < 32))
				EXPECT_EQ(rule, DMS_RULE_FLAGS);
			else if (at >= 16 && at < 20)	/* body */
				EXPECT_EQ(rule, DMS_RULE_LENGTH);
			else if (at < HEAD || at >= (FULL + 1) * HEAD)
				EXPECT_EQ(rule, DMS_RULE_NONE);
		}
		p[at] = wire_buf[at];
	}
	EXPECT_EQ(walk(p, n, &bad), DMS_RULE_NONE);
	EXPECT_EQ(bad, 0);
	test_free(p);
}

TEST(wire_pkt_lengths)
{
	u32 bad = 0, n;

	/* no frames: a credit update */
	memset(wire_buf, 0, 4 * HEAD);
	EXPECT_EQ(walk(wire_buf, HEAD, &bad), DMS_RULE_NONE);
	EXPECT_EQ(walk(wire_buf, HEAD + 1, &bad), DMS_RULE_LENGTH);
	put32(wire_buf + 16, 1);		/* a body of no frame */
	EXPECT_EQ(walk(wire_buf, HEAD + 1, &bad), DMS_RULE_LENGTH);

	/* the most frames there can be, in a packet that is too short for them */
	memset(wire_buf, 0, 4 * HEAD);
	put16(wire_buf, 0xffff);
	EXPECT_EQ(walk(wire_buf, 4 * HEAD, &bad), DMS_RULE_SHORT);

	/* lengths whose sum wraps to the right one */
	memset(wire_buf, 0, 3 * HEAD + 8);
	put16(wire_buf, 2);
	put32(wire_buf + 16, 8);
	wire_buf[HEAD] = DMS_F_DATA;
	wire_buf[2 * HEAD] = DMS_F_DATA;
	put32(wire_buf + HEAD + 12, U32_MAX - 7);
	put32(wire_buf + 2 * HEAD + 12, 16);
	EXPECT_EQ(walk(wire_buf, 3 * HEAD + 8, &bad), DMS_RULE_LENGTH);
	put32(wire_buf + HEAD + 12, 16);
	put32(wire_buf + 2 * HEAD + 12, U32_MAX - 7);
	EXPECT_EQ(walk(wire_buf, 3 * HEAD + 8, &bad), DMS_RULE_LENGTH);
	put32(wire_buf + HEAD + 12, 3);
	put32(wire_buf + 2 * HEAD + 12, 5);
	EXPECT_EQ(walk(wire_buf, 3 * HEAD + 8, &bad), DMS_RULE_NONE);
	put32(wire_buf + 2 * HEAD + 12, 4);	/* a gap at the end */
	EXPECT_EQ(walk(wire_buf, 3 * HEAD + 8, &bad), DMS_RULE_LENGTH);

	n = one_frame(wire_buf, DMS_F_DATA, 0);
	EXPECT_EQ(walk(wire_buf, n, &bad), DMS_RULE_NONE);
	n = one_frame(wire_buf, DMS_F_CONNECT, DMS_WIRE_SERVICE_MAX);
	EXPECT_EQ(walk(wire_buf, n, &bad), DMS_RULE_NONE);
	n = one_frame(wire_buf, DMS_F_CONNECT, DMS_WIRE_SERVICE_MAX - 1);
	EXPECT_EQ(walk(wire_buf, n, &bad), DMS_RULE_LENGTH);
	n = one_frame(wire_buf, DMS_F_CONNECT, DMS_WIRE_SERVICE_MAX + 1);
	EXPECT_EQ(walk(wire_buf, n, &bad), DMS_RULE_LENGTH);
	n = one_frame(wire_buf, DMS_F_CONNECT, 0);
	EXPECT_EQ(walk(wire_buf, n, &bad), DMS_RULE_LENGTH);
	n = one_frame(wire_buf, DMS_F_RTS, DMS_WIRE_STREAM_MSG_MAX);
	EXPECT_EQ(walk(wire_buf, n, &bad), DMS_RULE_NONE);
	n = one_frame(wire_buf, DMS_F_RTS, DMS_WIRE_STREAM_MSG_MAX + 1);
	EXPECT_EQ(walk(wire_buf, n, &bad), DMS_RULE_LENGTH);
	EXPECT_EQ(bad, 0);
}

/* Which fields a type has: gen, stream, seq, len, tag, a, b; and its flags. */
static const struct {
	const char *name;
	const char *fields;
	u8 flags;
} frame_rows[DMS_F_MAX] = {
	{ "NOP", ".......", 0 },
	{ "CONNECT", "...l.ab", 3 },
	{ "CONNECTED", ".s...a.", 0 },
	{ "REFUSED", ".s...ab", 0 },
	{ "ACCEPT", ".s...ab", 3 },
	{ "DATA", ".sqlt..", 0 },
	{ "RTS", ".sqlt..", 0 },
	{ "KEY", "gsqltab", 0 },
	{ "DONE", ".sq..a.", 0 },
	{ "HOLD", "gsq..a.", 0 },
	{ "PULL", "gsq....", 0 },
	{ "UPDATE", ".sq..a.", 0 },
	{ "NACK", ".sq..a.", 0 },
	{ "FIN", ".sq....", 0 },
	{ "RESET", ".sq..ab", 0 },
	{ "RESET_ACK", ".sq....", 0 },
	{ "RECALL", ".s.....", 0 },
	{ "RETURN", ".s...a.", 0 },
	{ "SLOT_RECALL", ".....a.", 0 },
};

TEST(wire_frame_fields)
{
	/* offset and size of the fields in the header */
	static const u8 off[] = { 2, 4, 8, 12, 16, 24, 28, 32 };
	u32 type, field, at, bit, n, bad = 0;
	enum dms_rule want;

	for (type = 0; type < DMS_F_MAX; type++) {
		for (field = 0; field < 7; field++) {
			for (at = off[field]; at < off[field + 1]; at++) {
				test_row(type * 1000 + at);
				n = one_frame(wire_buf, type,
					      type == DMS_F_CONNECT ? DMS_WIRE_SERVICE_MAX : 0);
				want = DMS_RULE_FLAGS;
				if (frame_rows[type].fields[field] != '.')
					want = DMS_RULE_NONE;
				/* a length of what is not there, or wrong for the type */
				if (field == 3 && (type == DMS_F_DATA || type == DMS_F_CONNECT ||
						   (type == DMS_F_RTS && at == 15)))
					want = DMS_RULE_LENGTH;
				wire_buf[HEAD + at] ^= 0x81;
				EXPECT_EQ(walk(wire_buf, n, &bad), want);
			}
		}
		for (bit = 0; bit < 8; bit++) {
			test_row(type * 1000 + 100 + bit);
			n = one_frame(wire_buf, type,
				      type == DMS_F_CONNECT ? DMS_WIRE_SERVICE_MAX : 0);
			wire_buf[HEAD + 1] = 1 << bit;
			want = frame_rows[type].flags & 1 << bit ? DMS_RULE_NONE : DMS_RULE_FLAGS;
			EXPECT_EQ(walk(wire_buf, n, &bad), want);
		}
	}
	for (type = DMS_F_MAX; type < 256; type++) {
		test_row(type);
		n = one_frame(wire_buf, type, 0);
		EXPECT_EQ(walk(wire_buf, n, &bad), DMS_RULE_TYPE);
	}
	EXPECT_EQ(bad, 0);
}

TEST(wire_names)
{
	u32 i, j;

	for (i = 0; i < DMS_F_MAX; i++) {
		test_row(i);
		EXPECT_STREQ(dms_frame_name(i), frame_rows[i].name);
		EXPECT_EQ(dms_wire_has_body(i), i == DMS_F_DATA || i == DMS_F_CONNECT);
	}
	for (; i < 256; i++) {
		EXPECT_STREQ(dms_frame_name(i), "?");
		EXPECT_FALSE(dms_wire_has_body(i));
	}
	for (i = 0; i < DMS_RULE_MAX; i++) {
		test_row(i);
		EXPECT_TRUE(strlen(dms_rule_name(i)) > 1);
		for (j = 0; j < i; j++)
			EXPECT_TRUE(strcmp(dms_rule_name(i), dms_rule_name(j)));
	}
	EXPECT_STREQ(dms_rule_name(DMS_RULE_NONE), "none");
	EXPECT_STREQ(dms_rule_name(DMS_RULE_CONNECT), "connect");
	EXPECT_STREQ(dms_rule_name(DMS_RULE_MAX), "?");
	EXPECT_STREQ(dms_rule_name((enum dms_rule)U32_MAX), "?");
}

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
		{ DMS_WIRE_MAGIC, DMS_MSG_BYE + 1, 1, 0, 0, DMS_RULE_TYPE },
		{ DMS_WIRE_MAGIC, 0xffff, 1, 0, 0, DMS_RULE_TYPE },
	};
	u32 i, len;
	u16 type;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		test_row(i);
		put32(wire_buf, rows[i].magic);
		put16(wire_buf + 4, rows[i].type);
		put16(wire_buf + 6, rows[i].version);
		put32(wire_buf + 8, rows[i].len);
		put32(wire_buf + 12, rows[i].reserved);
		EXPECT_EQ(dms_wire_msg_parse(wire_buf, &type, &len), rows[i].want);
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
	memset(wire_buf, 0xff, sizeof(wire_buf));
	EXPECT_EQ(dms_wire_hello_put(wire_buf, &h), MSG + HELLO);
	for (i = 0; i < sizeof(want); i++) {
		test_row(i);
		EXPECT_EQ(wire_buf[i], want[i]);
	}
	for (; i < MSG + HELLO; i++) {
		test_row(i);
		if (i >= MSG + 160 && i < MSG + 166)
			EXPECT_EQ(wire_buf[i], "node a"[i - MSG - 160]);
		else if (i == MSG + 224)
			EXPECT_EQ(wire_buf[i], 7);
		else if (i == MSG + 228)
			EXPECT_EQ(wire_buf[i], 3);
		else if (i >= MSG + 232 && i < MSG + 235)
			EXPECT_EQ(wire_buf[i], 0x70 + i - MSG - 232);
		else if (i == MSG + HELLO_1)
			EXPECT_EQ(wire_buf[i], 3);
		else if (i == MSG + HELLO_1 + 1)
			EXPECT_EQ(wire_buf[i], 1);
		else
			EXPECT_EQ(wire_buf[i], 0);
	}
	EXPECT_EQ(wire_buf[i], 0xff);
}

TEST(wire_hello_roundtrip)
{
	static struct dms_hello h, got;
	u32 len;
	u16 type;

	good_hello(&h);
	dms_wire_hello_put(wire_buf, &h);
	EXPECT_EQ(dms_wire_msg_parse(wire_buf, &type, &len), DMS_RULE_NONE);
	EXPECT_EQ(type, DMS_MSG_HELLO);
	memset(&got, 0, sizeof(got));
	EXPECT_EQ(dms_wire_hello_parse(wire_buf + MSG, len, &got), DMS_RULE_NONE);
	EXPECT_EQ(memcmp(&h, &got, sizeof(h)), 0);

	/* a name that no peer would take, and one without an end */
	memset(h.name, 'x', sizeof(h.name));
	h.name[0] = '\n';
	h.name[1] = '\x7f';
	h.name[2] = '\xc3';
	h.name[3] = ' ';
	h.name[4] = '~';
	dms_wire_hello_put(wire_buf, &h);
	EXPECT_EQ(dms_wire_hello_parse(wire_buf + MSG, HELLO, &got), DMS_RULE_NONE);
	EXPECT_EQ(memcmp(got.name, "??? ~x", 6), 0);
	EXPECT_EQ(strlen(got.name), DMS_WIRE_NAME_MAX - 1);

	/* counts that are too large write no more than there is */
	good_hello(&h);
	h.addrs = 0xffff;
	h.auth_len = U32_MAX;
	memset(wire_buf, 0xff, sizeof(wire_buf));
	EXPECT_EQ(dms_wire_hello_put(wire_buf, &h), MSG + HELLO);
	EXPECT_EQ(wire_buf[MSG + HELLO], 0xff);
	EXPECT_EQ(dms_wire_hello_parse(wire_buf + MSG, HELLO, &got), DMS_RULE_NONE);
	EXPECT_EQ(got.addrs, DMS_WIRE_ADDRS);
	EXPECT_EQ(got.auth_len, DMS_WIRE_AUTH_MAX);
}

TEST(wire_hello_lengths)
{
	static struct dms_hello h;
	u32 len;
	u8 *p;

	good_hello(&h);
	memset(wire_buf, 0xaa, sizeof(wire_buf));
	dms_wire_hello_put(wire_buf, &h);
	for (len = 0; len <= DMS_MSG_BODY_MAX + 1; len++) {
		test_row(len);
		p = test_alloc(len);
		EXPECT_TRUE(p);
		if (!p)
			return;
		memcpy(p, wire_buf + MSG, len);
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
	u8 *p = wire_buf + MSG;

	for (i = 0; i < ARRAY_SIZE(hello_rows); i++) {
		test_row(i);
		good_hello(&h);
		dms_wire_hello_put(wire_buf, &h);
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
	dms_wire_hello_put(wire_buf, &h);
	EXPECT_EQ(dms_wire_hello_parse(p, HELLO, &h), DMS_RULE_NONE);
	put32(p + 64, DMS_EAGER_CEIL + 1);
	EXPECT_EQ(dms_wire_hello_parse(p, HELLO, &h), DMS_RULE_LENGTH);

	/* nothing that is not needed */
	good_hello(&h);
	h.name[0] = 0;
	h.addrs = 0;
	h.auth_alg = 0;
	h.auth_len = 0;
	dms_wire_hello_put(wire_buf, &h);
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

	memset(wire_buf, 0xff, sizeof(wire_buf));
	EXPECT_EQ(dms_wire_refuse_put(wire_buf, 0x01020304, 0x05060708, refuse + 24), 40);
	EXPECT_EQ(memcmp(wire_buf, refuse, 40), 0);
	EXPECT_EQ(wire_buf[40], 0xff);
	EXPECT_EQ(dms_wire_refuse_parse(refuse + MSG, 24, &reason, &detail, nonce), DMS_RULE_NONE);
	EXPECT_EQ(reason, 0x01020304);
	EXPECT_EQ(detail, 0x05060708);
	EXPECT_EQ(memcmp(nonce, refuse + 24, 16), 0);

	memset(wire_buf, 0xff, sizeof(wire_buf));
	EXPECT_EQ(dms_wire_ping_put(wire_buf, DMS_MSG_PONG, 0x0102030405060708ULL), 24);
	EXPECT_EQ(memcmp(wire_buf, pong, 24), 0);
	EXPECT_EQ(wire_buf[24], 0xff);
	EXPECT_EQ(dms_wire_ping_parse(pong + MSG, 8, &stamp), DMS_RULE_NONE);
	EXPECT_TRUE(stamp == 0x0102030405060708ULL);

	memset(wire_buf, 0xff, sizeof(wire_buf));
	EXPECT_EQ(dms_wire_bye_put(wire_buf), MSG);
	EXPECT_EQ(memcmp(wire_buf, bye, MSG), 0);
	EXPECT_EQ(dms_wire_msg_parse(wire_buf, &type, &len), DMS_RULE_NONE);
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

TEST(wire_cm_data)
{
	static const u8 want[] = {
		'D', 'M', 'S', '1', 1, 0, 0x12, 0x34,
		0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27,
		0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e, 0x2f,
		0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37,
		0x38, 0x39, 0x3a, 0x3b, 0x3c, 0x3d, 0x3e, 0x3f,
		0x80, 0x01, 0x34, 0x02,
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
			     .slots_max = 0x234 }, got;
	u32 i, len;
	u8 *p;

	fill(cm.session, 16, 0x20);
	fill(cm.cookie, 16, 0x30);
	memset(wire_buf, 0xff, sizeof(wire_buf));
	EXPECT_EQ(dms_wire_cm_put(wire_buf, &cm), sizeof(want));
	EXPECT_EQ(memcmp(wire_buf, want, sizeof(want)), 0);
	EXPECT_EQ(wire_buf[sizeof(want)], 0xff);

	/* connection managers hand over more than was sent */
	for (len = 0; len <= 56; len++) {
		test_row(len);
		p = test_alloc(len);
		EXPECT_TRUE(p);
		if (!p)
			return;
		memcpy(p, wire_buf, len);
		EXPECT_EQ(dms_wire_cm_parse(p, len, &got),
			  len < sizeof(want) ? DMS_RULE_SHORT : DMS_RULE_NONE);
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
		memcpy(wire_buf, want, sizeof(want));
		put16(wire_buf + rows[i].at, rows[i].value);
		EXPECT_EQ(dms_wire_cm_parse(wire_buf, sizeof(want), &got), rows[i].want);
	}
	for (i = DMS_SLOTS_CEIL; i <= DMS_SLOTS_CEIL + 1; i++) {
		test_row(i);
		put16(wire_buf + 40, i);
		put16(wire_buf + 42, 0);
		EXPECT_EQ(dms_wire_cm_parse(wire_buf, sizeof(want), &got),
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

TEST(wire_services)
{
	char *name = test_alloc(DMS_WIRE_SERVICE_MAX);
	u32 i, c;

	EXPECT_TRUE(name);
	if (!name)
		return;
	memset(name, 0, DMS_WIRE_SERVICE_MAX);
	EXPECT_FALSE(dms_wire_service_ok(name));
	for (c = 1; c < 256; c++) {
		test_row(c);
		name[0] = (char)c;
		EXPECT_EQ(dms_wire_service_ok(name), c > 0x20 && c < 0x7f);
		name[0] = 'a';
		name[1] = (char)c;
		EXPECT_EQ(dms_wire_service_ok(name), c > 0x20 && c < 0x7f);
		name[1] = 0;
	}
	for (i = 2; i < DMS_WIRE_SERVICE_MAX; i++) {
		test_row(1000 + i);
		name[i] = 'x';			/* after the NUL */
		EXPECT_FALSE(dms_wire_service_ok(name));
		name[i] = 0;
	}
	memset(name, 'x', DMS_WIRE_SERVICE_MAX);
	EXPECT_FALSE(dms_wire_service_ok(name));
	name[DMS_WIRE_SERVICE_MAX - 1] = 0;
	EXPECT_TRUE(dms_wire_service_ok(name));
	name[0] = 0;
	EXPECT_FALSE(dms_wire_service_ok(name));
	test_free(name);
}

/* Random changes of good packets: a refusal, or one that adds up. */
TEST(wire_fuzz)
{
	u32 round, i, at, n, len, bad = 0, good = 0, refused = 0;
	static struct dms_hello h;
	struct dms_cm cm;
	u8 *p;

	test_seed(0x5eed1e55);
	n = full_packet(wire_copy);
	for (round = 0; round < TEST_ROUNDS(60000); round++) {
		test_row(round);
		len = test_random() % 4 ? n : test_random() % (n + 64);
		p = test_alloc(len);
		EXPECT_TRUE(p);
		if (!p)
			return;
		for (i = 0; i < len; i++)
			p[i] = test_random() % 512 ? wire_copy[i] : test_random() & 0xff;
		/* a few small changes in the headers, where they tell */
		for (i = test_random() % 4; i && len; i--) {
			at = test_random() % len;
			p[at] = test_random() % 20;
		}
		if (walk(p, len, &bad) == DMS_RULE_NONE)
			good++;
		else
			refused++;
		dms_wire_hello_parse(p, len, &h);
		dms_wire_cm_parse(p, len, &cm);
		test_free(p);
	}
	EXPECT_EQ(bad, 0);
	/* it has seen both ends */
	EXPECT_TRUE(good > round / 100);
	EXPECT_TRUE(refused > round / 2);
}

TESTSET(dms_core_wire,
	CASE(wire_pkt_golden),
	CASE(wire_pkt_fields),
	CASE(wire_pkt_roundtrip),
	CASE(wire_pkt_truncated),
	CASE(wire_pkt_corrupted),
	CASE(wire_pkt_lengths),
	CASE(wire_frame_fields),
	CASE(wire_names),
	CASE(wire_msg_headers),
	CASE(wire_hello_golden),
	CASE(wire_hello_roundtrip),
	CASE(wire_hello_lengths),
	CASE(wire_hello_ranges),
	CASE(wire_short_messages),
	CASE(wire_cm_data),
	CASE(wire_versions),
	CASE(wire_services),
	CASE(wire_fuzz));
