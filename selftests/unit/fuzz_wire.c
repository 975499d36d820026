// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parsers under libFuzzer.  The first byte of the input chooses one.
 * What a parser accepts has to add up, and has to come out the same when it is
 * written again.
 */
#include <stdlib.h>

#include <linux/string.h>
#include <linux/types.h>

#include "core/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void fuzz_pkt(const u8 *buf, u32 len)
{
	struct dms_pkt_cursor cur;
	struct dms_frame f;
	const u8 *at, *body;
	u8 again[32];
	u32 n = 0;

	if (dms_wire_pkt_parse(buf, len, &cur) != DMS_RULE_NONE)
		return;
	must(dms_wire_pkt_put(again, &cur.pkt) == 32);
	must(!memcmp(again, buf, 32));
	at = buf + 32;
	body = at + 32 * cur.pkt.frames;
	while (dms_wire_pkt_next(&cur, &f)) {
		must(dms_wire_frame_put(again, &f) == 32);
		must(!memcmp(again, at, 32));
		at += 32;
		n++;
		must(!f.body == !dms_wire_has_body(f.type));
		if (!f.body)
			continue;
		must(f.body == body);
		body += f.len;
		if (f.type == DMS_F_CONNECT)
			dms_wire_service_ok((const char *)f.body);
	}
	must(n == cur.pkt.frames && body == buf + len);
}

static void fuzz_hello(const u8 *buf, u32 len)
{
	static struct dms_hello hello, other;
	static u8 again[1024];
	u32 n, body;
	u16 type;

	if (dms_wire_hello_parse(buf, len, &hello) != DMS_RULE_NONE)
		return;
	must(strlen(hello.name) < DMS_WIRE_NAME_MAX);
	n = dms_wire_hello_put(again, &hello);
	must(dms_wire_msg_parse(again, &type, &body) == DMS_RULE_NONE);
	must(type == DMS_MSG_HELLO && body + sizeof(struct dms_wire_msg) == n);
	must(body == sizeof(struct dms_wire_hello));
	must(!memcmp(again + sizeof(struct dms_wire_msg), buf,
		     len < DMS_WIRE_HELLO_MIN + 2 ? DMS_WIRE_HELLO_MIN : DMS_WIRE_HELLO_MIN + 2));
	must(len >= DMS_WIRE_HELLO_MIN + 2 || !hello.qps_latency);
	must(dms_wire_hello_parse(again + sizeof(struct dms_wire_msg), body, &other) ==
	     DMS_RULE_NONE);
	must(dms_wire_version(&hello, &other) == hello.version_max);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	u8 nonce[DMS_WIRE_NONCE], again[64];
	u32 len, a, b;
	struct dms_cm cm;
	u64 stamp;
	u16 type;

	if (!size)
		return 0;
	size--;
	len = (u32)size;
	switch (*data++ % 6) {
	case 0:
	case 1:
		fuzz_pkt(data, len);
		break;
	case 2:
		fuzz_hello(data, len);
		break;
	case 3:
		if (dms_wire_cm_parse(data, len, &cm) == DMS_RULE_NONE)
			must(!memcmp(again, data, dms_wire_cm_put(again, &cm)));
		break;
	case 4:
		if (len >= sizeof(struct dms_wire_msg) &&
		    dms_wire_msg_parse(data, &type, &a) == DMS_RULE_NONE)
			must(a <= DMS_MSG_BODY_MAX);
		break;
	default:
		dms_wire_refuse_parse(data, len, &a, &b, nonce);
		dms_wire_ping_parse(data, len, &stamp);
		break;
	}
	return 0;
}
