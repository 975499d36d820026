/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of the wire format share. */
#ifndef DMS_TEST_WIRE_H
#define DMS_TEST_WIRE_H

#include "dms_test.h"

#define HEAD	32	/* of a packet, and of a frame */
#define MSG	16
#define HELLO	304
#define HELLO_1	296	/* of the first version */

static inline void put16(u8 *p, u32 v)
{
	p[0] = v & 0xff;
	p[1] = v >> 8 & 0xff;
}

static inline void put32(u8 *p, u32 v)
{
	put16(p, v & 0xffff);
	put16(p + 2, v >> 16);
}

static inline void fill(u8 *p, u32 n, u8 from)
{
	while (n--)
		*p++ = from++;
}

#endif /* DMS_TEST_WIRE_H */
