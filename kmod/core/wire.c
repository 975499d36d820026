// SPDX-License-Identifier: GPL-2.0-only
/*
 * The wire format, read and written.
 *
 * Whatever a peer sends is looked at once, here, and only decoded forms leave.
 * A parser checks all of its input before it says DMS_RULE_NONE; what it has
 * written to its outputs before another answer means nothing.
 *
 * Buffers need no alignment.  Nobody else writes to them meanwhile.
 */
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "core.h"
#include "wire.h"

/*
 * The layouts are what two hosts agree on.  A hole would be sent uninitialised,
 * and a field that moves is another protocol: raise DMS_WIRE_VERSION_MAX then.
 */
#define ASSERT_AT(type, field, off)	static_assert(offsetof(struct type, field) == (off))

static_assert(sizeof(struct dms_wire_msg) == 16);
ASSERT_AT(dms_wire_msg, magic, 0);
ASSERT_AT(dms_wire_msg, type, 4);
ASSERT_AT(dms_wire_msg, version, 6);
ASSERT_AT(dms_wire_msg, len, 8);
ASSERT_AT(dms_wire_msg, reserved, 12);

static_assert(sizeof(struct dms_wire_hello) == 304);
static_assert(DMS_WIRE_HELLO_MIN == 296);
static_assert(sizeof(struct dms_wire_hello) <= DMS_MSG_BODY_MAX);
ASSERT_AT(dms_wire_hello, version_min, 0);
ASSERT_AT(dms_wire_hello, version_max, 2);
ASSERT_AT(dms_wire_hello, epoch, 4);
ASSERT_AT(dms_wire_hello, features, 8);
ASSERT_AT(dms_wire_hello, nonce, 16);
ASSERT_AT(dms_wire_hello, session, 32);
ASSERT_AT(dms_wire_hello, cookie, 48);
ASSERT_AT(dms_wire_hello, eager_max, 64);
ASSERT_AT(dms_wire_hello, slot_bytes, 68);
ASSERT_AT(dms_wire_hello, slots, 72);
ASSERT_AT(dms_wire_hello, reads, 76);
ASSERT_AT(dms_wire_hello, keepalive_ms, 80);
ASSERT_AT(dms_wire_hello, listen_port, 84);
ASSERT_AT(dms_wire_hello, rdma_port, 86);
ASSERT_AT(dms_wire_hello, qps, 88);
ASSERT_AT(dms_wire_hello, addrs, 90);
ASSERT_AT(dms_wire_hello, reserved, 92);
ASSERT_AT(dms_wire_hello, addr, 96);
ASSERT_AT(dms_wire_hello, name, 160);
ASSERT_AT(dms_wire_hello, auth_alg, 224);
ASSERT_AT(dms_wire_hello, auth_len, 228);
ASSERT_AT(dms_wire_hello, auth, 232);
ASSERT_AT(dms_wire_hello, qps_latency, 296);
ASSERT_AT(dms_wire_hello, reserved2, 298);

static_assert(sizeof(struct dms_wire_refuse) == 24);
ASSERT_AT(dms_wire_refuse, reason, 0);
ASSERT_AT(dms_wire_refuse, detail, 4);
ASSERT_AT(dms_wire_refuse, nonce, 8);

static_assert(sizeof(struct dms_wire_ping) == 8);
ASSERT_AT(dms_wire_ping, stamp, 0);

static_assert(sizeof(struct dms_wire_path) == 8);
ASSERT_AT(dms_wire_path, epoch, 0);
ASSERT_AT(dms_wire_path, index, 4);
ASSERT_AT(dms_wire_path, word, 5);
ASSERT_AT(dms_wire_path, reserved, 6);

static_assert(sizeof(struct dms_wire_move) == 24);
static_assert(sizeof(struct dms_wire_move) <= DMS_MSG_BODY_MAX);
ASSERT_AT(dms_wire_move, epoch, 0);
ASSERT_AT(dms_wire_move, index, 4);
ASSERT_AT(dms_wire_move, reserved, 5);
ASSERT_AT(dms_wire_move, read, 6);
ASSERT_AT(dms_wire_move, rkey, 8);
ASSERT_AT(dms_wire_move, len, 12);
ASSERT_AT(dms_wire_move, addr, 16);

/* private data of an rdma_cm request over InfiniBand's CM: 92 bytes less 36 of its own */
static_assert(sizeof(struct dms_wire_cm) == 48);
static_assert(DMS_WIRE_CM_MIN == 44);
static_assert(sizeof(struct dms_wire_cm) <= 56);
ASSERT_AT(dms_wire_cm, magic, 0);
ASSERT_AT(dms_wire_cm, version, 4);
ASSERT_AT(dms_wire_cm, lane, 6);
ASSERT_AT(dms_wire_cm, index, 7);
ASSERT_AT(dms_wire_cm, session, 8);
ASSERT_AT(dms_wire_cm, cookie, 24);
ASSERT_AT(dms_wire_cm, slots, 40);
ASSERT_AT(dms_wire_cm, slots_max, 42);
ASSERT_AT(dms_wire_cm, epoch, 44);
static_assert(DMS_SLOTS_CEIL <= U16_MAX);

static_assert(sizeof(struct dms_wire_pkt) == 32);
ASSERT_AT(dms_wire_pkt, frames, 0);
ASSERT_AT(dms_wire_pkt, lane, 2);
ASSERT_AT(dms_wire_pkt, flags, 3);
ASSERT_AT(dms_wire_pkt, epoch, 4);
ASSERT_AT(dms_wire_pkt, seq, 8);
ASSERT_AT(dms_wire_pkt, credit, 12);
ASSERT_AT(dms_wire_pkt, body, 16);
ASSERT_AT(dms_wire_pkt, reserved, 20);

static_assert(sizeof(struct dms_wire_frame) == 32);
ASSERT_AT(dms_wire_frame, type, 0);
ASSERT_AT(dms_wire_frame, flags, 1);
ASSERT_AT(dms_wire_frame, gen, 2);
ASSERT_AT(dms_wire_frame, stream, 4);
ASSERT_AT(dms_wire_frame, seq, 8);
ASSERT_AT(dms_wire_frame, len, 12);
ASSERT_AT(dms_wire_frame, tag, 16);
ASSERT_AT(dms_wire_frame, a, 24);
ASSERT_AT(dms_wire_frame, b, 28);

/* field of a wire structure, by name */
#define GET(bits, p, type, field) \
	dms_get_le##bits((p) + offsetof(struct type, field))
#define PUT(bits, p, type, field, v) \
	dms_put_le##bits((p) + offsetof(struct type, field), v)

/* Fields of a frame that its type uses; the others are zero. */
#define F_GEN		BIT(0)
#define F_STREAM	BIT(1)
#define F_SEQ		BIT(2)
#define F_LEN		BIT(3)
#define F_TAG		BIT(4)
#define F_A		BIT(5)
#define F_B		BIT(6)
#define F_BODY		BIT(7)		/* len bytes of body follow */

static const struct frame_format {
	const char	*name;
	u8		flags;
	u8		fields;
} formats[DMS_F_MAX] = {
	[DMS_F_NOP]	  = { "NOP", 0, 0 },
	[DMS_F_CONNECT]	  = { "CONNECT", DMS_FF_POSTED | DMS_FF_NOLARGE | DMS_FF_PUSH,
			      F_LEN | F_A | F_B | F_BODY },
	[DMS_F_CONNECTED] = { "CONNECTED", 0, F_STREAM | F_A },
	[DMS_F_REFUSED]	  = { "REFUSED", 0, F_STREAM | F_A | F_B },
	[DMS_F_ACCEPT]	  = { "ACCEPT", DMS_FF_POSTED | DMS_FF_NOLARGE | DMS_FF_PUSH,
			      F_STREAM | F_A | F_B },
	[DMS_F_DATA]	  = { "DATA", 0, F_STREAM | F_SEQ | F_LEN | F_TAG | F_BODY },
	[DMS_F_RTS]	  = { "RTS", 0, F_STREAM | F_SEQ | F_LEN | F_TAG },
	[DMS_F_KEY]	  = { "KEY", 0,
			      F_GEN | F_STREAM | F_SEQ | F_LEN | F_TAG | F_A | F_B },
	[DMS_F_DONE]	  = { "DONE", 0, F_STREAM | F_SEQ | F_A },
	[DMS_F_HOLD]	  = { "HOLD", 0, F_GEN | F_STREAM | F_SEQ | F_A },
	[DMS_F_PULL]	  = { "PULL", 0, F_GEN | F_STREAM | F_SEQ },
	[DMS_F_UPDATE]	  = { "UPDATE", 0, F_STREAM | F_SEQ | F_A },
	[DMS_F_NACK]	  = { "NACK", 0, F_STREAM | F_SEQ | F_A },
	[DMS_F_FIN]	  = { "FIN", 0, F_STREAM | F_SEQ },
	[DMS_F_RESET]	  = { "RESET", 0, F_STREAM | F_SEQ | F_A | F_B },
	[DMS_F_RESET_ACK] = { "RESET_ACK", 0, F_STREAM | F_SEQ },
	[DMS_F_RECALL]	  = { "RECALL", 0, F_STREAM },
	[DMS_F_RETURN]	  = { "RETURN", 0, F_STREAM | F_A },
	[DMS_F_SLOT_RECALL] = { "SLOT_RECALL", 0, F_A },
	[DMS_F_GRANT]	  = { "GRANT", 0, F_STREAM | F_SEQ | F_LEN | F_TAG | F_B },
	[DMS_F_PUSHED]	  = { "PUSHED", 0, F_STREAM | F_SEQ | F_LEN | F_TAG },
	[DMS_F_REVOKE]	  = { "REVOKE", 0, F_STREAM },
	[DMS_F_REVOKED]	  = { "REVOKED", 0, F_STREAM },
	[DMS_F_RESUME]	  = { "RESUME", DMS_FF_OVER, F_STREAM | F_SEQ | F_LEN | F_TAG | F_A | F_B },
	[DMS_F_RESUME_END] = { "RESUME_END", 0, 0 },
	[DMS_F_RESET_DONE] = { "RESET_DONE", 0, F_STREAM },
	[DMS_F_NACK_ACK]  = { "NACK_ACK", 0, F_STREAM | F_SEQ },
	[DMS_F_SKIP]	  = { "SKIP", 0, F_STREAM | F_SEQ },
	[DMS_F_SKIPPED]	  = { "SKIPPED", 0, F_STREAM | F_SEQ },
};

static const char * const rule_names[DMS_RULE_MAX] = {
	[DMS_RULE_NONE]		= "none",
	[DMS_RULE_SHORT]	= "short",
	[DMS_RULE_LENGTH]	= "length",
	[DMS_RULE_FLAGS]	= "flags",
	[DMS_RULE_TYPE]		= "type",
	[DMS_RULE_EPOCH]	= "epoch",
	[DMS_RULE_PKT_SEQ]	= "packet-sequence",
	[DMS_RULE_CREDIT]	= "slot-credit",
	[DMS_RULE_STREAM]	= "stream",
	[DMS_RULE_STATE]	= "state",
	[DMS_RULE_SEQ]		= "message-sequence",
	[DMS_RULE_LANDING]	= "landing",
	[DMS_RULE_ANNOUNCE]	= "announce",
	[DMS_RULE_KEY]		= "key",
	[DMS_RULE_DONE]		= "done",
	[DMS_RULE_ACK]		= "ack",
	[DMS_RULE_GRANT]	= "grant",
	[DMS_RULE_CONNECT]	= "connect",
	[DMS_RULE_PUSH]		= "push",
};

static bool all_zero(const u8 *p, size_t n)
{
	while (n--)
		if (*p++)
			return false;
	return true;
}

static bool printable(u8 c, u8 first)
{
	return c >= first && c <= '~';
}

/* Printable, from @first on; then NUL to the end of the @size bytes, one at least. */
static bool text_ok(const u8 *p, size_t size, u8 first)
{
	size_t n = 0;

	while (n < size && printable(p[n], first))
		n++;
	return n < size && all_zero(p + n, size - n);
}

static void frame_decode(const u8 *p, struct dms_frame *f)
{
	f->type = p[offsetof(struct dms_wire_frame, type)];
	f->flags = p[offsetof(struct dms_wire_frame, flags)];
	f->gen = GET(16, p, dms_wire_frame, gen);
	f->stream = GET(32, p, dms_wire_frame, stream);
	f->seq = GET(32, p, dms_wire_frame, seq);
	f->len = GET(32, p, dms_wire_frame, len);
	f->tag = GET(64, p, dms_wire_frame, tag);
	f->a = GET(32, p, dms_wire_frame, a);
	f->b = GET(32, p, dms_wire_frame, b);
	f->body = NULL;
}

#define LOW32	0x00000000ffffffffULL
#define HIGH32	0xffffffff00000000ULL

/* Which bits of 64 are zero, when fields of the lower and of the upper half are used. */
static const u64 unused[4] = { LOW32 | HIGH32, HIGH32, LOW32, 0 };

/* seq and len, a and b are next to each other here and there. */
static_assert(F_LEN == F_SEQ << 1 && F_B == F_A << 1);

/*
 * Bits that are set and may not be, of all fields at once: four loads instead of one
 * for each field, since each frame that arrives comes through here.
 */
static u64 frame_wrong(const u8 *p, const struct frame_format *format)
{
	u64 head = dms_get_le64(p);
	u32 fields = format->fields;
	u64 wrong;

	/* type, flags, gen and stream, from the lowest byte on */
	wrong = head >> 8 & 0xff & ~(u64)format->flags;
	wrong |= fields & F_GEN ? 0 : head & 0xffff0000ULL;
	wrong |= fields & F_STREAM ? 0 : head & HIGH32;
	wrong |= dms_get_le64(p + offsetof(struct dms_wire_frame, seq)) &
		 unused[fields / F_SEQ & 3];
	wrong |= fields & F_TAG ? 0 : GET(64, p, dms_wire_frame, tag);
	wrong |= dms_get_le64(p + offsetof(struct dms_wire_frame, a)) & unused[fields / F_A & 3];
	return wrong;
}

/*
 * What can be said of a frame without knowing its stream.  @body: out: bytes that
 * follow.
 */
static enum dms_rule frame_check(const u8 *p, u32 *body)
{
	u8 type = p[offsetof(struct dms_wire_frame, type)];
	u32 len = GET(32, p, dms_wire_frame, len);
	const struct frame_format *format;

	if (type >= DMS_F_MAX)
		return DMS_RULE_TYPE;
	format = &formats[type];
	if (frame_wrong(p, format))
		return DMS_RULE_FLAGS;
	if (type == DMS_F_CONNECT && len != DMS_WIRE_SERVICE_MAX)
		return DMS_RULE_LENGTH;
	if ((type == DMS_F_RTS || type == DMS_F_GRANT || type == DMS_F_PUSHED) &&
	    len > DMS_WIRE_STREAM_MSG_MAX)
		return DMS_RULE_LENGTH;
	*body = format->fields & F_BODY ? len : 0;
	return DMS_RULE_NONE;
}

/**
 * dms_wire_pkt_parse() - check a packet, and begin to read it
 * @buf: what one SEND of the peer has brought
 * @len: its bytes
 * @cur: the packet's header, and where dms_wire_pkt_next() goes on; it points
 *       into @buf
 *
 * All lengths are checked against each other here, for all frames: the headers
 * and the bodies fill the packet exactly.  Not checked: what needs the path
 * (epoch, lane, sequence, credit, features) or the stream, and a CONNECT's service.
 *
 * Context: Any.
 * Return: DMS_RULE_NONE, or the rule that the packet breaks: SHORT, LENGTH,
 * FLAGS or TYPE.
 */
enum dms_rule dms_wire_pkt_parse(const void *buf, u32 len, struct dms_pkt_cursor *cur)
{
	const u8 *p = buf;
	u32 heads, left, body;
	enum dms_rule rule;
	u16 i;

	if (len < sizeof(struct dms_wire_pkt))
		return DMS_RULE_SHORT;
	if (p[offsetof(struct dms_wire_pkt, flags)] & ~DMS_PF_STALLED ||
	    GET(32, p, dms_wire_pkt, reserved[0]) | GET(32, p, dms_wire_pkt, reserved[1]) |
	    GET(32, p, dms_wire_pkt, reserved[2]))
		return DMS_RULE_FLAGS;

	cur->pkt.frames = GET(16, p, dms_wire_pkt, frames);
	cur->pkt.lane = p[offsetof(struct dms_wire_pkt, lane)];
	cur->pkt.flags = p[offsetof(struct dms_wire_pkt, flags)];
	cur->pkt.epoch = GET(32, p, dms_wire_pkt, epoch);
	cur->pkt.seq = GET(32, p, dms_wire_pkt, seq);
	cur->pkt.credit = GET(32, p, dms_wire_pkt, credit);
	cur->pkt.body = GET(32, p, dms_wire_pkt, body);

	p += sizeof(struct dms_wire_pkt);
	len -= sizeof(struct dms_wire_pkt);
	heads = cur->pkt.frames * (u32)sizeof(struct dms_wire_frame);
	if (heads > len)
		return DMS_RULE_SHORT;
	if (cur->pkt.body != len - heads)
		return DMS_RULE_LENGTH;

	cur->frame = p;
	cur->body = p + heads;
	cur->left = cur->pkt.frames;

	left = cur->pkt.body;
	for (i = 0; i < cur->pkt.frames; i++, p += sizeof(struct dms_wire_frame)) {
		rule = frame_check(p, &body);
		if (rule != DMS_RULE_NONE)
			return rule;
		if (body > left)
			return DMS_RULE_LENGTH;
		left -= body;
	}
	return left ? DMS_RULE_LENGTH : DMS_RULE_NONE;
}

/**
 * dms_wire_pkt_next() - the next frame of a packet
 * @cur: from dms_wire_pkt_parse(), which answered DMS_RULE_NONE
 * @frame: the frame; its body points into the packet
 *
 * Context: Any.
 * Return: false when there are no more.
 */
bool dms_wire_pkt_next(struct dms_pkt_cursor *cur, struct dms_frame *frame)
{
	if (!cur->left)
		return false;
	cur->left--;

	frame_decode(cur->frame, frame);
	cur->frame += sizeof(struct dms_wire_frame);
	if (dms_wire_has_body(frame->type)) {
		frame->body = cur->body;
		cur->body += frame->len;
	}
	return true;
}

/**
 * dms_wire_msg_parse() - check the header of a message on the TCP connection
 * @buf: sizeof(struct dms_wire_msg) bytes
 * @type: enum dms_msg_type
 * @len: bytes of body that follow; right for the type; at most DMS_MSG_BODY_MAX, unless
 *	 dms_wire_moves()
 *
 * Context: Any.
 * Return: DMS_RULE_NONE; TYPE when this is no message of ours, or one that
 * only a later version can read; FLAGS; LENGTH.
 */
enum dms_rule dms_wire_msg_parse(const void *buf, u16 *type, u32 *len)
{
	const u8 *p = buf;
	u16 version = GET(16, p, dms_wire_msg, version);
	bool ok;

	if (GET(32, p, dms_wire_msg, magic) != DMS_WIRE_MAGIC)
		return DMS_RULE_TYPE;
	if (!version || version > DMS_WIRE_VERSION_MAX)
		return DMS_RULE_TYPE;
	if (GET(32, p, dms_wire_msg, reserved))
		return DMS_RULE_FLAGS;

	*type = GET(16, p, dms_wire_msg, type);
	*len = GET(32, p, dms_wire_msg, len);
	switch (*type) {
	case DMS_MSG_HELLO:
		ok = *len >= DMS_WIRE_HELLO_MIN && *len <= DMS_MSG_BODY_MAX;
		break;
	case DMS_MSG_REFUSE:
		ok = *len == sizeof(struct dms_wire_refuse);
		break;
	case DMS_MSG_PING:
	case DMS_MSG_PONG:
		ok = *len == sizeof(struct dms_wire_ping);
		break;
	case DMS_MSG_BYE:
		ok = !*len;
		break;
	case DMS_MSG_PATH:
		ok = *len == sizeof(struct dms_wire_path);
		break;
	case DMS_MSG_PACKET:
		ok = *len > sizeof(struct dms_wire_move) &&
		     *len <= sizeof(struct dms_wire_move) + DMS_SLOT_BYTES_CEIL;
		break;
	case DMS_MSG_READ:
		ok = *len == sizeof(struct dms_wire_move);
		break;
	case DMS_MSG_DATA:
	case DMS_MSG_WRITE:
		ok = *len > sizeof(struct dms_wire_move) &&
		     *len <= sizeof(struct dms_wire_move) + DMS_MOVE_BYTES_MAX;
		break;
	default:
		return DMS_RULE_TYPE;
	}
	return ok ? DMS_RULE_NONE : DMS_RULE_LENGTH;
}

/* A field that the first version did not have: 0 when the message ends before it. */
#define GET_LATER(bits, p, len, type, field) \
	((len) >= offsetof(struct type, field) + sizeof_field(struct type, field) ? \
	 GET(bits, p, type, field) : 0)

static void hello_decode(const u8 *p, u32 len, struct dms_hello *h)
{
	h->version_min = GET(16, p, dms_wire_hello, version_min);
	h->version_max = GET(16, p, dms_wire_hello, version_max);
	h->epoch = GET(32, p, dms_wire_hello, epoch);
	h->features = GET(64, p, dms_wire_hello, features);
	memcpy(h->nonce, p + offsetof(struct dms_wire_hello, nonce), sizeof(h->nonce));
	memcpy(h->session, p + offsetof(struct dms_wire_hello, session), sizeof(h->session));
	memcpy(h->cookie, p + offsetof(struct dms_wire_hello, cookie), sizeof(h->cookie));
	h->eager_max = GET(32, p, dms_wire_hello, eager_max);
	h->slot_bytes = GET(32, p, dms_wire_hello, slot_bytes);
	h->slots = GET(32, p, dms_wire_hello, slots);
	h->reads = GET(32, p, dms_wire_hello, reads);
	h->keepalive_ms = GET(32, p, dms_wire_hello, keepalive_ms);
	h->listen_port = GET(16, p, dms_wire_hello, listen_port);
	h->rdma_port = GET(16, p, dms_wire_hello, rdma_port);
	h->qps = GET(16, p, dms_wire_hello, qps);
	h->addrs = GET(16, p, dms_wire_hello, addrs);
	memcpy(h->addr, p + offsetof(struct dms_wire_hello, addr), sizeof(h->addr));
	memcpy(h->name, p + offsetof(struct dms_wire_hello, name), sizeof(h->name));
	h->auth_alg = GET(32, p, dms_wire_hello, auth_alg);
	h->auth_len = GET(32, p, dms_wire_hello, auth_len);
	memcpy(h->auth, p + offsetof(struct dms_wire_hello, auth), sizeof(h->auth));
	h->qps_latency = GET_LATER(16, p, len, dms_wire_hello, qps_latency);
}

/*
 * A slot holds at least the longest eager message with both its headers, else
 * the sender of one would have nowhere to send it.
 */
static bool hello_limits_ok(const struct dms_hello *h)
{
	const u32 heads = sizeof(struct dms_wire_pkt) + sizeof(struct dms_wire_frame);

	return h->eager_max >= DMS_EAGER_FLOOR && h->eager_max <= DMS_EAGER_CEIL &&
	       h->slot_bytes >= h->eager_max + heads && h->slot_bytes <= DMS_SLOT_BYTES_CEIL &&
	       h->slots >= DMS_SLOTS_FLOOR && h->slots <= DMS_SLOTS_CEIL &&
	       h->reads >= 1 && h->reads <= DMS_READS_CEIL && h->qps >= 1;
}

/**
 * dms_wire_hello_parse() - read the body of a HELLO
 * @buf: body
 * @len: its bytes
 * @hello: what it says
 *
 * The name ends up on consoles, so it is printable ASCII or nothing.  Feature
 * bits and authentication algorithms that are not known are not refused here:
 * the session agrees on what both have.
 *
 * Context: Any.
 * Return: DMS_RULE_NONE; SHORT; LENGTH: a length or a limit is out of range;
 * FLAGS: something unused is not zero; TYPE: no version range, or a bad name.
 */
enum dms_rule dms_wire_hello_parse(const void *buf, u32 len, struct dms_hello *hello)
{
	const u8 *p = buf;

	if (len < DMS_WIRE_HELLO_MIN)
		return DMS_RULE_SHORT;
	if (len > DMS_MSG_BODY_MAX)
		return DMS_RULE_LENGTH;

	hello_decode(p, len, hello);
	if (!hello->version_min || hello->version_min > hello->version_max)
		return DMS_RULE_TYPE;
	if (!hello_limits_ok(hello) || hello->addrs > DMS_WIRE_ADDRS ||
	    hello->auth_len > DMS_WIRE_AUTH_MAX || (!hello->auth_alg && hello->auth_len))
		return DMS_RULE_LENGTH;
	if (GET(32, p, dms_wire_hello, reserved) ||
	    !all_zero((const u8 *)hello->addr + 16 * hello->addrs,
		      16 * (DMS_WIRE_ADDRS - hello->addrs)) ||
	    !all_zero(hello->auth + hello->auth_len, DMS_WIRE_AUTH_MAX - hello->auth_len))
		return DMS_RULE_FLAGS;
	if (!text_ok((const u8 *)hello->name, DMS_WIRE_NAME_MAX, ' '))
		return DMS_RULE_TYPE;
	return DMS_RULE_NONE;
}

/**
 * dms_wire_refuse_parse() - read the body of a REFUSE
 * @buf: body
 * @len: its bytes
 * @reason: enum dmastream_refusal, or what a later version has added to it
 * @detail: depends on the reason
 * @nonce: boot nonce of the sender, DMS_WIRE_NONCE bytes
 *
 * Context: Any.
 * Return: DMS_RULE_NONE, SHORT or LENGTH.
 */
enum dms_rule dms_wire_refuse_parse(const void *buf, u32 len, u32 *reason, u32 *detail, u8 *nonce)
{
	const u8 *p = buf;

	if (len != sizeof(struct dms_wire_refuse))
		return len < sizeof(struct dms_wire_refuse) ? DMS_RULE_SHORT : DMS_RULE_LENGTH;
	*reason = GET(32, p, dms_wire_refuse, reason);
	*detail = GET(32, p, dms_wire_refuse, detail);
	memcpy(nonce, p + offsetof(struct dms_wire_refuse, nonce), DMS_WIRE_NONCE);
	return DMS_RULE_NONE;
}

/**
 * dms_wire_ping_parse() - read the body of a PING or PONG
 * @buf: body
 * @len: its bytes
 * @stamp: word of the PING's sender, that the PONG gives back
 *
 * Context: Any.
 * Return: DMS_RULE_NONE, SHORT or LENGTH.
 */
enum dms_rule dms_wire_ping_parse(const void *buf, u32 len, u64 *stamp)
{
	const u8 *p = buf;

	if (len != sizeof(struct dms_wire_ping))
		return len < sizeof(struct dms_wire_ping) ? DMS_RULE_SHORT : DMS_RULE_LENGTH;
	*stamp = GET(64, p, dms_wire_ping, stamp);
	return DMS_RULE_NONE;
}

/**
 * dms_wire_path_parse() - read the body of a PATH
 * @buf: body
 * @len: its bytes
 * @msg: what it says; the index is any value
 *
 * Context: Any.
 * Return: DMS_RULE_NONE, SHORT, LENGTH, FLAGS, or TYPE: no word of ours.
 */
enum dms_rule dms_wire_path_parse(const void *buf, u32 len, struct dms_path_msg *msg)
{
	const u8 *p = buf;

	if (len != sizeof(struct dms_wire_path))
		return len < sizeof(struct dms_wire_path) ? DMS_RULE_SHORT : DMS_RULE_LENGTH;
	if (GET(16, p, dms_wire_path, reserved))
		return DMS_RULE_FLAGS;
	msg->epoch = GET(32, p, dms_wire_path, epoch);
	msg->index = p[offsetof(struct dms_wire_path, index)];
	msg->word = p[offsetof(struct dms_wire_path, word)];
	return msg->word >= DMS_PATH_DOWN && msg->word <= DMS_PATH_TCP ? DMS_RULE_NONE :
									  DMS_RULE_TYPE;
}

/**
 * dms_wire_move_parse() - read what a PACKET, READ, DATA or WRITE begins with
 * @buf: sizeof(struct dms_wire_move) bytes
 * @type: which of them
 * @len: of the whole body, as dms_wire_msg_parse() said
 * @move: what it says; index, read, rkey and addr are any values
 *
 * Context: Any.
 * Return: DMS_RULE_NONE, FLAGS, or LENGTH: it is not as long as it says, or wants nothing.
 */
enum dms_rule dms_wire_move_parse(const void *buf, u16 type, u32 len, struct dms_move *move)
{
	const u8 *p = buf;
	bool asks = type == DMS_MSG_READ, packet = type == DMS_MSG_PACKET;

	move->epoch = GET(32, p, dms_wire_move, epoch);
	move->index = p[offsetof(struct dms_wire_move, index)];
	move->read = GET(16, p, dms_wire_move, read);
	move->rkey = GET(32, p, dms_wire_move, rkey);
	move->len = GET(32, p, dms_wire_move, len);
	move->addr = GET(64, p, dms_wire_move, addr);
	if (p[offsetof(struct dms_wire_move, reserved)])
		return DMS_RULE_FLAGS;
	if ((packet || type == DMS_MSG_DATA) && move->rkey)
		return DMS_RULE_FLAGS;
	if ((packet || type == DMS_MSG_WRITE) && move->read)
		return DMS_RULE_FLAGS;
	if (packet)
		return move->len || move->addr ? DMS_RULE_FLAGS : DMS_RULE_NONE;
	if (!move->len || (!asks && move->len != len - sizeof(struct dms_wire_move)))
		return DMS_RULE_LENGTH;
	return DMS_RULE_NONE;
}

/**
 * dms_wire_cm_parse() - read the private data of an rdma_cm event
 * @buf: private data
 * @len: its bytes; connection managers pad it, so it may be longer
 * @cm: what it says
 *
 * Context: Any.
 * Not checked: whether both sides have the features that slots_max and epoch are of.
 * Return: DMS_RULE_NONE; SHORT; TYPE when it is not ours; LENGTH when slots or
 * slots_max is out of range.
 */
enum dms_rule dms_wire_cm_parse(const void *buf, u32 len, struct dms_cm *cm)
{
	const u8 *p = buf;

	if (len < DMS_WIRE_CM_MIN)
		return DMS_RULE_SHORT;
	cm->version = GET(16, p, dms_wire_cm, version);
	if (GET(32, p, dms_wire_cm, magic) != DMS_WIRE_MAGIC ||
	    cm->version < DMS_WIRE_VERSION_MIN || cm->version > DMS_WIRE_VERSION_MAX)
		return DMS_RULE_TYPE;
	cm->lane = p[offsetof(struct dms_wire_cm, lane)];
	cm->index = p[offsetof(struct dms_wire_cm, index)];
	memcpy(cm->session, p + offsetof(struct dms_wire_cm, session), DMS_WIRE_NONCE);
	memcpy(cm->cookie, p + offsetof(struct dms_wire_cm, cookie), DMS_WIRE_NONCE);
	cm->slots = GET(16, p, dms_wire_cm, slots);
	cm->slots_max = GET(16, p, dms_wire_cm, slots_max);
	cm->epoch = GET_LATER(32, p, len, dms_wire_cm, epoch);
	if (cm->slots < DMS_SLOTS_FLOOR || cm->slots > DMS_SLOTS_CEIL)
		return DMS_RULE_LENGTH;
	if (cm->slots_max && (cm->slots_max < cm->slots || cm->slots_max > DMS_SLOTS_CEIL))
		return DMS_RULE_LENGTH;
	return DMS_RULE_NONE;
}

/**
 * dms_wire_pkt_put() - write the header of a packet
 * @buf: room for sizeof(struct dms_wire_pkt) bytes
 * @pkt: what it says
 *
 * Context: Any.
 * Return: bytes written; the frame headers come next.
 */
u32 dms_wire_pkt_put(void *buf, const struct dms_pkt *pkt)
{
	u8 *p = buf;

	memset(p, 0, sizeof(struct dms_wire_pkt));
	PUT(16, p, dms_wire_pkt, frames, pkt->frames);
	p[offsetof(struct dms_wire_pkt, lane)] = pkt->lane;
	p[offsetof(struct dms_wire_pkt, flags)] = pkt->flags;
	PUT(32, p, dms_wire_pkt, epoch, pkt->epoch);
	PUT(32, p, dms_wire_pkt, seq, pkt->seq);
	PUT(32, p, dms_wire_pkt, credit, pkt->credit);
	PUT(32, p, dms_wire_pkt, body, pkt->body);
	return sizeof(struct dms_wire_pkt);
}

/**
 * dms_wire_frame_put() - write the header of a frame
 * @buf: room for sizeof(struct dms_wire_frame) bytes
 * @frame: what it says; its body is not looked at
 *
 * Everything is written as it is, also into fields that the type does not use:
 * the peer refuses those, so a mistake here is found by the first test.
 *
 * Context: Any.
 * Return: bytes written.
 */
u32 dms_wire_frame_put(void *buf, const struct dms_frame *frame)
{
	u8 *p = buf;

	p[offsetof(struct dms_wire_frame, type)] = frame->type;
	p[offsetof(struct dms_wire_frame, flags)] = frame->flags;
	PUT(16, p, dms_wire_frame, gen, frame->gen);
	PUT(32, p, dms_wire_frame, stream, frame->stream);
	PUT(32, p, dms_wire_frame, seq, frame->seq);
	PUT(32, p, dms_wire_frame, len, frame->len);
	PUT(64, p, dms_wire_frame, tag, frame->tag);
	PUT(32, p, dms_wire_frame, a, frame->a);
	PUT(32, p, dms_wire_frame, b, frame->b);
	return sizeof(struct dms_wire_frame);
}

static u8 *msg_put(u8 *p, u16 type, u32 len)
{
	PUT(32, p, dms_wire_msg, magic, DMS_WIRE_MAGIC);
	PUT(16, p, dms_wire_msg, type, type);
	PUT(16, p, dms_wire_msg, version, 1);
	PUT(32, p, dms_wire_msg, len, len);
	PUT(32, p, dms_wire_msg, reserved, 0);
	return p + sizeof(struct dms_wire_msg);
}

/* A host may be named as it likes; what a peer would refuse becomes '?'. */
static void name_put(u8 *p, const char *name)
{
	u32 i;

	for (i = 0; i < DMS_WIRE_NAME_MAX - 1 && name[i]; i++)
		p[i] = printable(name[i], ' ') ? name[i] : '?';
}

/**
 * dms_wire_hello_put() - write a HELLO
 * @buf: room for header and body
 * @hello: what it says; only the used entries of addr and auth are written
 *
 * Context: Any.
 * Return: bytes written.
 */
u32 dms_wire_hello_put(void *buf, const struct dms_hello *hello)
{
	u32 addrs = min_t(u32, hello->addrs, DMS_WIRE_ADDRS);
	u32 auth_len = min_t(u32, hello->auth_len, DMS_WIRE_AUTH_MAX);
	u8 *p = msg_put(buf, DMS_MSG_HELLO, sizeof(struct dms_wire_hello));

	memset(p, 0, sizeof(struct dms_wire_hello));
	PUT(16, p, dms_wire_hello, version_min, hello->version_min);
	PUT(16, p, dms_wire_hello, version_max, hello->version_max);
	PUT(32, p, dms_wire_hello, epoch, hello->epoch);
	PUT(64, p, dms_wire_hello, features, hello->features);
	memcpy(p + offsetof(struct dms_wire_hello, nonce), hello->nonce, DMS_WIRE_NONCE);
	memcpy(p + offsetof(struct dms_wire_hello, session), hello->session, DMS_WIRE_NONCE);
	memcpy(p + offsetof(struct dms_wire_hello, cookie), hello->cookie, DMS_WIRE_NONCE);
	PUT(32, p, dms_wire_hello, eager_max, hello->eager_max);
	PUT(32, p, dms_wire_hello, slot_bytes, hello->slot_bytes);
	PUT(32, p, dms_wire_hello, slots, hello->slots);
	PUT(32, p, dms_wire_hello, reads, hello->reads);
	PUT(32, p, dms_wire_hello, keepalive_ms, hello->keepalive_ms);
	PUT(16, p, dms_wire_hello, listen_port, hello->listen_port);
	PUT(16, p, dms_wire_hello, rdma_port, hello->rdma_port);
	PUT(16, p, dms_wire_hello, qps, hello->qps);
	PUT(16, p, dms_wire_hello, addrs, (u16)addrs);
	memcpy(p + offsetof(struct dms_wire_hello, addr), hello->addr, addrs * 16);
	name_put(p + offsetof(struct dms_wire_hello, name), hello->name);
	PUT(32, p, dms_wire_hello, auth_alg, hello->auth_alg);
	PUT(32, p, dms_wire_hello, auth_len, auth_len);
	memcpy(p + offsetof(struct dms_wire_hello, auth), hello->auth, auth_len);
	PUT(16, p, dms_wire_hello, qps_latency, hello->qps_latency);
	return sizeof(struct dms_wire_msg) + sizeof(struct dms_wire_hello);
}

/**
 * dms_wire_refuse_put() - write a REFUSE
 * @buf: room for header and body
 * @reason: enum dmastream_refusal
 * @detail: depends on the reason
 * @nonce: boot nonce of this node
 *
 * Context: Any.
 * Return: bytes written.
 */
u32 dms_wire_refuse_put(void *buf, u32 reason, u32 detail, const u8 *nonce)
{
	u8 *p = msg_put(buf, DMS_MSG_REFUSE, sizeof(struct dms_wire_refuse));

	PUT(32, p, dms_wire_refuse, reason, reason);
	PUT(32, p, dms_wire_refuse, detail, detail);
	memcpy(p + offsetof(struct dms_wire_refuse, nonce), nonce, DMS_WIRE_NONCE);
	return sizeof(struct dms_wire_msg) + sizeof(struct dms_wire_refuse);
}

/**
 * dms_wire_ping_put() - write a PING or PONG
 * @buf: room for header and body
 * @type: DMS_MSG_PING or DMS_MSG_PONG
 * @stamp: of the PING
 *
 * Context: Any.
 * Return: bytes written.
 */
u32 dms_wire_ping_put(void *buf, u16 type, u64 stamp)
{
	u8 *p = msg_put(buf, type, sizeof(struct dms_wire_ping));

	PUT(64, p, dms_wire_ping, stamp, stamp);
	return sizeof(struct dms_wire_msg) + sizeof(struct dms_wire_ping);
}

/**
 * dms_wire_bye_put() - write a BYE, which has no body
 * @buf: room for a header
 *
 * Context: Any.
 * Return: bytes written.
 */
u32 dms_wire_bye_put(void *buf)
{
	msg_put(buf, DMS_MSG_BYE, 0);
	return sizeof(struct dms_wire_msg);
}

/**
 * dms_wire_path_put() - write a PATH
 * @buf: room for header and body
 * @msg: what it says
 *
 * Context: Any.
 * Return: bytes written.
 */
u32 dms_wire_path_put(void *buf, const struct dms_path_msg *msg)
{
	u8 *p = msg_put(buf, DMS_MSG_PATH, sizeof(struct dms_wire_path));

	PUT(32, p, dms_wire_path, epoch, msg->epoch);
	p[offsetof(struct dms_wire_path, index)] = msg->index;
	p[offsetof(struct dms_wire_path, word)] = msg->word;
	PUT(16, p, dms_wire_path, reserved, 0);
	return sizeof(struct dms_wire_msg) + sizeof(struct dms_wire_path);
}

/**
 * dms_wire_move_put() - write what a PACKET, READ, DATA or WRITE begins with
 * @buf: room for the header and struct dms_wire_move
 * @type: which of them
 * @move: what it says
 * @bytes: that follow
 *
 * Context: Any.
 * Return: bytes written.
 */
u32 dms_wire_move_put(void *buf, u16 type, const struct dms_move *move, u32 bytes)
{
	u8 *p = msg_put(buf, type, sizeof(struct dms_wire_move) + bytes);

	PUT(32, p, dms_wire_move, epoch, move->epoch);
	p[offsetof(struct dms_wire_move, index)] = move->index;
	p[offsetof(struct dms_wire_move, reserved)] = 0;
	PUT(16, p, dms_wire_move, read, move->read);
	PUT(32, p, dms_wire_move, rkey, move->rkey);
	PUT(32, p, dms_wire_move, len, move->len);
	PUT(64, p, dms_wire_move, addr, move->addr);
	return sizeof(struct dms_wire_msg) + sizeof(struct dms_wire_move);
}

/**
 * dms_wire_cm_put() - write private data for rdma_connect() or rdma_accept()
 * @buf: room for sizeof(struct dms_wire_cm) bytes
 * @cm: what it says
 *
 * Context: Any.
 * Return: bytes written.
 */
u32 dms_wire_cm_put(void *buf, const struct dms_cm *cm)
{
	u8 *p = buf;

	PUT(32, p, dms_wire_cm, magic, DMS_WIRE_MAGIC);
	PUT(16, p, dms_wire_cm, version, cm->version);
	p[offsetof(struct dms_wire_cm, lane)] = cm->lane;
	p[offsetof(struct dms_wire_cm, index)] = cm->index;
	memcpy(p + offsetof(struct dms_wire_cm, session), cm->session, DMS_WIRE_NONCE);
	memcpy(p + offsetof(struct dms_wire_cm, cookie), cm->cookie, DMS_WIRE_NONCE);
	PUT(16, p, dms_wire_cm, slots, cm->slots);
	PUT(16, p, dms_wire_cm, slots_max, cm->slots_max);
	PUT(32, p, dms_wire_cm, epoch, cm->epoch);
	return sizeof(struct dms_wire_cm);
}

/**
 * dms_wire_version() - the version that two nodes speak
 * @mine: HELLO of one
 * @theirs: HELLO of the other; both give the same answer
 *
 * Context: Any.
 * Return: the highest version that both speak, 0 when there is none.
 */
u16 dms_wire_version(const struct dms_hello *mine, const struct dms_hello *theirs)
{
	u16 version = min_t(u16, mine->version_max, theirs->version_max);

	if (version < mine->version_min || version < theirs->version_min)
		return 0;
	return version;
}

/**
 * dms_wire_has_body() - do frames of a type have a body, of len bytes?
 * @type: any value
 *
 * Context: Any.
 * Return: true for DATA and CONNECT.
 */
bool dms_wire_has_body(u8 type)
{
	return type < DMS_F_MAX && formats[type].fields & F_BODY;
}

/**
 * dms_wire_service_ok() - may a service have this name?
 * @name: DMS_WIRE_SERVICE_MAX bytes
 *
 * Context: Any.
 * Return: true when it is printable ASCII without space, not empty, and the
 * rest, at least one byte, is NUL.
 */
bool dms_wire_service_ok(const char *name)
{
	return *name && text_ok((const u8 *)name, DMS_WIRE_SERVICE_MAX, '!');
}

/**
 * dms_frame_name() - a frame's type, for people
 * @type: any value
 *
 * Context: Any.
 * Return: a constant string, "?" for what is no type.
 */
const char *dms_frame_name(u8 type)
{
	return type < DMS_F_MAX ? formats[type].name : "?";
}

/**
 * dms_rule_name() - a rule of the protocol, for people
 * @rule: any value
 *
 * Context: Any.
 * Return: a constant string, "?" for what is no rule.
 */
const char *dms_rule_name(enum dms_rule rule)
{
	return (unsigned int)rule < DMS_RULE_MAX ? rule_names[rule] : "?";
}
