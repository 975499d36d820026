// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmsctl: JSON.  Objects and arrays nest; a member has a name, an element none.
 */
#include <inttypes.h>
#include <stdio.h>

#include "dmsctl.h"

#define DEPTH	8

static struct {
	int	depth;
	bool	line;		/* no line breaks in it */
	bool	first[DEPTH];
	char	end[DEPTH];
} out;

static void put_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void line_break(void)
{
	if (!out.line)
		printf("\n%*s", 2 * out.depth, "");
}

static void item(const char *name)
{
	if (!out.first[out.depth])
		printf(out.line ? ", " : ",");
	out.first[out.depth] = false;
	line_break();
	if (name) {
		put_string(name);
		printf(": ");
	}
}

static void nest(char open, char end)
{
	putchar(open);
	if (out.depth + 1 < DEPTH)
		out.depth++;
	out.first[out.depth] = true;
	out.end[out.depth] = end;
}

static void begin(bool line)
{
	out.depth = 0;
	out.line = line;
	nest('{', '}');
}

void out_begin(void)
{
	begin(false);
}

void out_begin_line(void)
{
	begin(true);
}

void out_end(void)
{
	while (out.depth)
		out_close();
	putchar('\n');
}

void out_object(const char *name)
{
	item(name);
	nest('{', '}');
}

void out_array(const char *name)
{
	item(name);
	nest('[', ']');
}

void out_close(void)
{
	char end = out.end[out.depth];
	bool empty = out.first[out.depth];

	out.depth--;
	if (!empty)
		line_break();
	putchar(end);
}

void out_u64(const char *name, uint64_t v)
{
	item(name);
	printf("%" PRIu64, v);
}

void out_str(const char *name, const char *v)
{
	item(name);
	put_string(v);
}

void out_bool(const char *name, bool v)
{
	item(name);
	printf(v ? "true" : "false");
}
