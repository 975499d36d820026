// SPDX-License-Identifier: GPL-2.0-only
/*
 * The wire format.  Golden bytes, so that a change of layout is seen although
 * both directions change alike; every truncation; every corrupted byte.
 */
#include "dms_test.h"
#include "core/wire.h"
#include "test_wire.h"

static u8 wire_buf[2048];
static u8 wire_copy[2048];

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
#define FULL	30

/* One frame of every type that has no body, two with, in the middle and at the end. */
static u32 full_packet(u8 *buf)
{
	struct dms_pkt pkt = { .frames = FULL, .lane = 1, .epoch = 7, .seq = 9, .credit = 100,
			       .body = DMS_WIRE_SERVICE_MAX + 5 };
	static const struct dms_frame frames[] = {
		{ .type = DMS_F_NOP },
		{ .type = DMS_F_CONNECT, .flags = DMS_FF_POSTED | DMS_FF_NOLARGE | DMS_FF_PUSH,
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
		{ .type = DMS_F_GRANT, .stream = 1, .seq = 2, .len = DMS_WIRE_STREAM_MSG_MAX,
		  .tag = U64_MAX, .b = 3 },
		{ .type = DMS_F_PUSHED, .stream = 1, .seq = 2, .len = DMS_WIRE_STREAM_MSG_MAX,
		  .tag = 4 },
		{ .type = DMS_F_REVOKE, .stream = 1 },
		{ .type = DMS_F_REVOKED, .stream = 1 },
		{ .type = DMS_F_RESUME, .flags = DMS_FF_OVER, .stream = 1, .seq = 2, .len = 3,
		  .tag = U64_MAX, .a = 4, .b = 5 },
		{ .type = DMS_F_RESUME_END },
		{ .type = DMS_F_RESET_DONE, .stream = 1 },
		{ .type = DMS_F_NACK_ACK, .stream = 1, .seq = 2 },
		{ .type = DMS_F_SKIP, .stream = 1, .seq = 2 },
		{ .type = DMS_F_SKIPPED, .stream = 1, .seq = U32_MAX },
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
	n = one_frame(wire_buf, DMS_F_GRANT, DMS_WIRE_STREAM_MSG_MAX + 1);
	EXPECT_EQ(walk(wire_buf, n, &bad), DMS_RULE_LENGTH);
	n = one_frame(wire_buf, DMS_F_PUSHED, DMS_WIRE_STREAM_MSG_MAX + 1);
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
	{ "CONNECT", "...l.ab", 7 },
	{ "CONNECTED", ".s...a.", 0 },
	{ "REFUSED", ".s...ab", 0 },
	{ "ACCEPT", ".s...ab", 7 },
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
	{ "GRANT", ".sqlt.b", 0 },
	{ "PUSHED", ".sqlt..", 0 },
	{ "REVOKE", ".s.....", 0 },
	{ "REVOKED", ".s.....", 0 },
	{ "RESUME", ".sqltab", DMS_FF_OVER },
	{ "RESUME_END", ".......", 0 },
	{ "RESET_DONE", ".s.....", 0 },
	{ "NACK_ACK", ".sq....", 0 },
	{ "SKIP", ".sq....", 0 },
	{ "SKIPPED", ".sq....", 0 },
};

/* Types whose length is that of a message elsewhere. */
static bool announces(u32 type)
{
	return type == DMS_F_RTS || type == DMS_F_GRANT || type == DMS_F_PUSHED;
}

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
						   (announces(type) && at == 15)))
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
	EXPECT_STREQ(dms_rule_name(DMS_RULE_PUSH), "push");
	EXPECT_STREQ(dms_rule_name(DMS_RULE_MAX), "?");
	EXPECT_STREQ(dms_rule_name((enum dms_rule)U32_MAX), "?");
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
	CASE(wire_services),
	CASE(wire_fuzz));
