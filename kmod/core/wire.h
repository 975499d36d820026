/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The wire format: all that one node says to another.
 *
 * Integers are little-endian, every structure's size is asserted in wire.c,
 * every length is checked before it is used.  Documentation/protocol.rst has
 * the conversations.
 *
 * Two kinds of carriers:
 *  - the session's TCP connection carries messages: struct dms_wire_msg and a
 *    body (HELLO, REFUSE, PING ...);
 *  - a path (a queue pair) carries packets, one SEND each: struct
 *    dms_wire_pkt, then all frame headers, then the bodies of those frames
 *    that have one, in the same order, without gaps.
 *
 * Epoch and lane are said once for all frames of a packet.
 */
#ifndef DMS_CORE_WIRE_H
#define DMS_CORE_WIRE_H

#include <linux/types.h>

#define DMS_WIRE_MAGIC		0x31534d44U	/* "DMS1" */
#define DMS_WIRE_VERSION_MIN	1
#define DMS_WIRE_VERSION_MAX	1

#define DMS_WIRE_SERVICE_MAX	64
#define DMS_WIRE_NONCE		16
#define DMS_WIRE_ADDRS		4
#define DMS_WIRE_NAME_MAX	64
#define DMS_WIRE_AUTH_MAX	64
/* Features, in HELLO: in use when both sides have them. */
#define DMS_FEATURE_DEPTH	(1ULL << 0)	/* slots_max, DMS_PF_STALLED, SLOT_RECALL */
#define DMS_FEATURE_PUSH	(1ULL << 1)	/* DMS_FF_PUSH, GRANT, PUSHED, REVOKE, REVOKED */
/* PATH; epoch in requests of rdma_cm; RESUME, RESUME_END, RESET_DONE, NACK_ACK */
#define DMS_FEATURE_RESUME	(1ULL << 2)
/* with RESUME: PATH(TCP), PACKET, READ, DATA, WRITE: the session's connection as a carrier */
#define DMS_FEATURE_TCP		(1ULL << 3)
#define DMS_FEATURE_SKIP	(1ULL << 4)	/* SKIP, SKIPPED */

/* Longest message of a stream, in bytes. */
#define DMS_WIRE_STREAM_MSG_MAX	0x7fffffffU

/* What a HELLO may ask for; outside of it, it is malformed. */
#define DMS_EAGER_FLOOR		256
#define DMS_EAGER_CEIL		65536
#define DMS_SLOTS_FLOOR		8
#define DMS_SLOTS_CEIL		4096
#define DMS_SLOT_BYTES_CEIL	(128 * 1024)
#define DMS_READS_CEIL		256

/* Classes of traffic; each has queue pairs of its own. */
enum dms_lane {
	DMS_LANE_BULK		= 0,	/* whatever asks for nothing else; there always is one */
	DMS_LANE_LATENCY	= 1,
	DMS_LANES
};

/* Fixed slots for announced messages (RTS) of one stream and direction. */
#define DMS_ANNOUNCE_SLOTS	4
/* A pooled stream never has more eager landing credits than this. */
#define DMS_SMALL_CREDITS	16
/* A posted stream never has more receives posted than this. */
#define DMS_POSTED_CREDITS	32768
/* CONNECTs of one path that have no answer yet. */
#define DMS_CONNECTS_MAX	32
/* Keys of one message that are out at a time: segments, two ahead. */
#define DMS_KEYS_AHEAD		2
/* Landings of one stream and direction that are granted ahead, for the next messages. */
#define DMS_GRANTS_AHEAD	4

/* ---- messages on the session's TCP connection ---- */

enum dms_msg_type {
	DMS_MSG_HELLO	= 1,
	DMS_MSG_REFUSE	= 2,
	DMS_MSG_PING	= 3,
	DMS_MSG_PONG	= 4,
	DMS_MSG_BYE	= 5,
	DMS_MSG_PATH	= 6,
	/* of paths that have this connection as their carrier: struct dms_wire_move, and bytes */
	DMS_MSG_PACKET	= 7,	/* as a SEND: a packet */
	DMS_MSG_READ	= 8,	/* as an RDMA READ: its request */
	DMS_MSG_DATA	= 9,	/* some of what was asked for */
	DMS_MSG_WRITE	= 10,	/* as an RDMA WRITE */
};

/*
 * @version: the oldest version of the protocol that can read this message, so
 *	1 for HELLO and REFUSE for ever: which versions a node speaks is in them
 * @len: bytes of the body that follows, at most DMS_MSG_BODY_MAX but for those that
 *	dms_wire_moves()
 */
struct dms_wire_msg {
	__le32	magic;
	__le16	type;
	__le16	version;
	__le32	len;
	__le32	reserved;
};

#define DMS_MSG_BODY_MAX	1024
/* Bytes of memory in one DATA or WRITE: what others of the connection wait for at most. */
#define DMS_MOVE_BYTES_MAX	(64 * 1024)

/*
 * The dialler sends its HELLO first, the other side answers with its own or
 * with REFUSE.  A HELLO may grow; what the receiver does not know it skips, and
 * what a shorter one of an older node lacks is 0.  @len (of the header) is at
 * least DMS_WIRE_HELLO_MIN.
 */
struct dms_wire_hello {
	__le16	version_min;
	__le16	version_max;
	__le32	epoch;
	__le64	features;
	__u8	nonce[DMS_WIRE_NONCE];		/* boot nonce of the sender */
	__u8	session[DMS_WIRE_NONCE];	/* random, made by the dialler; echoed */
	/* from the accepting side: what a QP must show; else zero */
	__u8	cookie[DMS_WIRE_NONCE];
	__le32	eager_max;
	__le32	slot_bytes;
	__le32	slots;				/* receives posted per QP */
	__le32	reads;				/* RDMA READs that it serves at once, per QP */
	__le32	keepalive_ms;
	__le16	listen_port;			/* 0: not listening now */
	__le16	rdma_port;
	__le16	qps;				/* QPs of the bulk lane that it wants; the lower of both */
	__le16	addrs;				/* used entries of addr */
	__le32	reserved;
	__u8	addr[DMS_WIRE_ADDRS][16];	/* RDMA addresses, IPv4 as ::ffff:a.b.c.d */
	__u8	name[DMS_WIRE_NAME_MAX];	/* of the node, NUL-padded, may be empty */
	__le32	auth_alg;			/* 0: none */
	__le32	auth_len;
	__u8	auth[DMS_WIRE_AUTH_MAX];
	/* the first version ends here */
	__le16	qps_latency;			/* of the latency lane, may be 0; the lower of both */
	__le16	reserved2[3];			/* zero; not looked at: a later version may use it */
};

/* Of the first version. */
#define DMS_WIRE_HELLO_MIN	offsetof(struct dms_wire_hello, qps_latency)

/* @reason: enum dmastream_refusal */
struct dms_wire_refuse {
	__le32	reason;
	__le32	detail;
	__u8	nonce[DMS_WIRE_NONCE];
};

/* PING and PONG; PONG returns the stamp */
struct dms_wire_ping {
	__le64	stamp;
};

enum dms_path_word {
	DMS_PATH_DOWN	= 1,	/* its carrier of that epoch has failed */
	DMS_PATH_OFF	= 2,	/* and is fenced: nothing of that epoch reaches the sender any more */
	DMS_PATH_TCP	= 3,	/* dialling side: that epoch is carried by this connection, from here on */
};

/* PATH */
struct dms_wire_path {
	__le32	epoch;
	__u8	index;
	__u8	word;				/* enum dms_path_word */
	__le16	reserved;
};

/*
 * What PACKET, READ, DATA and WRITE begin with.  Those of an epoch that is over are
 * dropped.
 */
struct dms_wire_move {
	__le32	epoch;
	__u8	index;				/* of the path */
	__u8	reserved;
	__le16	read;				/* READ, DATA: the asking side's number of it */
	__le32	rkey;				/* READ, WRITE */
	__le32	len;				/* READ: bytes wanted; DATA, WRITE: that follow */
	__le64	addr;				/* READ, WRITE: as KEY said; DATA: offset in the READ */
};

/* ---- private data of an rdma_cm request and its answer (at most 56 bytes) ---- */

struct dms_wire_cm {
	__le32	magic;
	__le16	version;
	__u8	lane;
	__u8	index;
	__u8	session[DMS_WIRE_NONCE];
	__u8	cookie[DMS_WIRE_NONCE];		/* request only; zero in the answer */
	__le16	slots;
	__le16	slots_max;			/* with DMS_FEATURE_DEPTH: most ever; else zero */
	/* the first version ends here */
	__le32	epoch;				/* with DMS_FEATURE_RESUME; else zero */
};

/* Of the first version. */
#define DMS_WIRE_CM_MIN		offsetof(struct dms_wire_cm, epoch)

/* As @index: nothing is asked for but whether this is heard; the answer is a REFUSE. */
#define DMS_CM_PROBE		0xff

/* ---- packets on a path ---- */

/* of a packet */
#define DMS_PF_STALLED		0x01	/* the sender ran out of slot credits before this one */

struct dms_wire_pkt {
	__le16	frames;
	__u8	lane;
	__u8	flags;
	__le32	epoch;
	__le32	seq;		/* of this packet in the path and direction, from 0 */
	__le32	credit;		/* receives posted so far: packets that may come in all */
	__le32	body;		/* bytes after the frame headers */
	__le32	reserved[3];
};

enum dms_frame_type {
	DMS_F_NOP		= 0,	/* spends a slot credit, nothing else */
	/* a: sender's stream id, b: small landing bytes, body: service */
	DMS_F_CONNECT		= 1,
	DMS_F_CONNECTED		= 2,	/* a: sender's stream id */
	DMS_F_REFUSED		= 3,	/* a: enum dmastream_refusal, b: detail */
	DMS_F_ACCEPT		= 4,	/* a: landing credit limit, b: small landing bytes */
	DMS_F_DATA		= 5,	/* eager message: seq, len, tag, body */
	DMS_F_RTS		= 6,	/* announced message: seq, len of the message, tag */
	/* seq, gen, len of the segment, tag: address, a: offset in the message, b: rkey */
	DMS_F_KEY		= 7,
	DMS_F_DONE		= 8,	/* seq, a: bytes of the message pulled so far */
	/*
	 * seq, gen, a: bytes pulled; no READ is in flight, none will start until PULL and
	 * new keys, which begin there
	 */
	DMS_F_HOLD		= 9,
	DMS_F_PULL		= 10,	/* seq, gen */
	DMS_F_UPDATE		= 11,	/* seq: delivered up to here; a: landing credit limit */
	DMS_F_NACK		= 12,	/* seq, a: positive errno; this message was not delivered */
	DMS_F_FIN		= 13,	/* seq: one past the last message */
	/*
	 * seq: delivered up to here, nothing after it ever will be; a: enum
	 * dmastream_err_class, b: detail; no READ of the sender is in flight
	 */
	DMS_F_RESET		= 14,
	/* seq: likewise; no READ of the sender is in flight; RESET_DONE alone may follow */
	DMS_F_RESET_ACK		= 15,
	DMS_F_RECALL		= 16,	/* the sender's landings are wanted elsewhere: give back what is not needed */
	DMS_F_RETURN		= 17,	/* a: landing credits spent on nothing, may be 0; answers RECALL */
	DMS_F_SLOT_RECALL	= 18,	/* a: packets that who gets this should have sent */
	/*
	 * seq: of the message that may be written, len: bytes at most, tag: address,
	 * b: rkey; once, and not after REVOKED
	 */
	DMS_F_GRANT		= 19,
	DMS_F_PUSHED		= 20,	/* seq, len, tag: this message was written where it was granted */
	DMS_F_REVOKE		= 21,	/* all grants are to end */
	DMS_F_REVOKED		= 22,	/* no WRITE to a grant that came before REVOKE follows */
	/*
	 * of a stream that goes on in a new epoch; seq: delivered up to here; len: arrived
	 * up to here; a: sender's stream id; b: the message that is being pulled, or one past
	 * len; tag: landing credits used, and bytes of b that landed (upper half)
	 */
	DMS_F_RESUME		= 23,
	DMS_F_RESUME_END	= 24,	/* the last RESUME, or CONNECT instead of one, was before this */
	DMS_F_RESET_DONE	= 25,	/* RESET_ACK has come; last frame to this id */
	DMS_F_NACK_ACK		= 26,	/* seq: NACK(EMSGSIZE) of it has come */
	DMS_F_SKIP		= 27,	/* seq: this message is not to be delivered */
	/* seq: it is not delivered and never will be; no READ of it is in flight; answers SKIP */
	DMS_F_SKIPPED		= 28,
	DMS_F_MAX
	/* later: COMMIT */
};

/* of CONNECT and ACCEPT */
#define DMS_FF_POSTED		0x01	/* the sender receives with posted buffers */
#define DMS_FF_NOLARGE		0x02	/* the sender has no large group */
#define DMS_FF_PUSH		0x04	/* the sender may grant landings; with POSTED only */
/* of RESUME */
#define DMS_FF_OVER		0x08	/* the sender has said RESET_ACK */

/* What the table above does not name for a type is zero, or DMS_RULE_FLAGS. */
struct dms_wire_frame {
	__u8	type;
	__u8	flags;
	__le16	gen;
	__le32	stream;		/* the receiver's id of the stream; 0 in CONNECT */
	__le32	seq;
	__le32	len;
	__le64	tag;
	__le32	a;
	__le32	b;
};

/* ---- decoded forms ---- */

struct dms_pkt {
	u16	frames;
	u8	lane;
	u8	flags;
	u32	epoch;
	u32	seq;
	u32	credit;
	u32	body;
};

struct dms_frame {
	u8		type;
	u8		flags;
	u16		gen;
	u32		stream;
	u32		seq;
	u32		len;
	u64		tag;
	u32		a;
	u32		b;
	const u8	*body;		/* DATA and CONNECT: len bytes, else NULL */
};

struct dms_hello {
	u16	version_min, version_max;
	u32	epoch;
	u64	features;
	u8	nonce[DMS_WIRE_NONCE];
	u8	session[DMS_WIRE_NONCE];
	u8	cookie[DMS_WIRE_NONCE];
	u32	eager_max, slot_bytes, slots, reads, keepalive_ms;
	u16	listen_port, rdma_port, qps, qps_latency, addrs;
	u8	addr[DMS_WIRE_ADDRS][16];
	char	name[DMS_WIRE_NAME_MAX];
	u32	auth_alg, auth_len;
	u8	auth[DMS_WIRE_AUTH_MAX];
};

struct dms_cm {
	u16	version;
	u8	lane;
	u8	index;
	u8	session[DMS_WIRE_NONCE];
	u8	cookie[DMS_WIRE_NONCE];
	u16	slots, slots_max;
	u32	epoch;
};

struct dms_path_msg {
	u32	epoch;
	u8	index;
	u8	word;
};

struct dms_move {
	u32	epoch;
	u8	index;
	u16	read;
	u32	rkey;
	u32	len;
	u64	addr;
};

/*
 * Which rule of the protocol a peer broke: detail of DMASTREAM_ERR_PROTOCOL,
 * and an index of counters.
 */
enum dms_rule {
	DMS_RULE_NONE,
	DMS_RULE_SHORT,		/* shorter than a header or than its frames */
	DMS_RULE_LENGTH,	/* bodies and lengths do not add up */
	DMS_RULE_FLAGS,		/* a reserved bit or field is set */
	DMS_RULE_TYPE,		/* unknown type */
	DMS_RULE_EPOCH,		/* epoch or lane is not this path's */
	DMS_RULE_PKT_SEQ,	/* packet lost, doubled or beyond its credit */
	DMS_RULE_CREDIT,	/* slot credit backwards or too far */
	DMS_RULE_STREAM,	/* no such stream in this session and path */
	DMS_RULE_STATE,		/* not in this state of the stream */
	DMS_RULE_SEQ,		/* message sequence not the next one */
	DMS_RULE_LANDING,	/* eager message without a credit, or too long */
	DMS_RULE_ANNOUNCE,	/* more RTS than slots */
	DMS_RULE_KEY,		/* KEY outside its message, or more than two */
	DMS_RULE_DONE,		/* DONE backwards, or of what was not keyed */
	DMS_RULE_ACK,		/* acknowledges what was not sent, or backwards */
	DMS_RULE_GRANT,		/* landing credit backwards or too far */
	DMS_RULE_CONNECT,	/* too many, or a bad name */
	DMS_RULE_PUSH,		/* GRANT, PUSHED or REVOKED of what cannot be */
	DMS_RULE_MAX
};

struct dms_pkt_cursor {
	struct dms_pkt	pkt;
	const u8	*frame;		/* next frame header */
	const u8	*body;		/* next body */
	u16		left;
};

/* Parsing: all of it works on a buffer that nobody else writes. */
enum dms_rule dms_wire_pkt_parse(const void *buf, u32 len, struct dms_pkt_cursor *cur);
bool dms_wire_pkt_next(struct dms_pkt_cursor *cur, struct dms_frame *frame);
enum dms_rule dms_wire_msg_parse(const void *buf, u16 *type, u32 *len);
enum dms_rule dms_wire_hello_parse(const void *buf, u32 len, struct dms_hello *hello);
enum dms_rule dms_wire_refuse_parse(const void *buf, u32 len, u32 *reason, u32 *detail, u8 *nonce);
enum dms_rule dms_wire_ping_parse(const void *buf, u32 len, u64 *stamp);
enum dms_rule dms_wire_path_parse(const void *buf, u32 len, struct dms_path_msg *msg);
enum dms_rule dms_wire_move_parse(const void *buf, u16 type, u32 len, struct dms_move *move);
enum dms_rule dms_wire_cm_parse(const void *buf, u32 len, struct dms_cm *cm);

/* Building: @buf is large enough by the caller's promise; returns bytes written. */
u32 dms_wire_pkt_put(void *buf, const struct dms_pkt *pkt);
u32 dms_wire_frame_put(void *buf, const struct dms_frame *frame);
u32 dms_wire_hello_put(void *buf, const struct dms_hello *hello);	/* header and body */
u32 dms_wire_refuse_put(void *buf, u32 reason, u32 detail, const u8 *nonce);
u32 dms_wire_ping_put(void *buf, u16 type, u64 stamp);
u32 dms_wire_bye_put(void *buf);
u32 dms_wire_path_put(void *buf, const struct dms_path_msg *msg);
/* header and struct dms_wire_move; @bytes follow */
u32 dms_wire_move_put(void *buf, u16 type, const struct dms_move *move, u32 bytes);
u32 dms_wire_cm_put(void *buf, const struct dms_cm *cm);

/* 0 when there is no common version */
u16 dms_wire_version(const struct dms_hello *mine, const struct dms_hello *theirs);
bool dms_wire_has_body(u8 type);
/* PACKET, READ, DATA or WRITE; any value */
static inline bool dms_wire_moves(u16 type)
{
	return type >= DMS_MSG_PACKET && type <= DMS_MSG_WRITE;
}

/* NUL-terminated, NUL-padded, not empty, printable ASCII without space */
bool dms_wire_service_ok(const char *name);
const char *dms_frame_name(u8 type);
const char *dms_rule_name(enum dms_rule rule);

#endif /* DMS_CORE_WIRE_H */
