/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What --check looks at: a word at the start of each 4 KiB of a message that says
 * which 4 KiB it is.  The receiver wipes a word after it has seen it, so one that
 * was never written again shows.  It costs a word a page, not a pass over the bytes.
 */
#ifndef PERF_PATTERN_H
#define PERF_PATTERN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PERF_BLOCK	4096U

static inline uint64_t perf_pattern_word(uint64_t block)
{
	/* odd multiplier of splitmix64 (Steele et al. 2014): no two blocks alike */
	return (block + 1) * 0x9e3779b97f4a7c15ULL;
}

static inline void perf_pattern_fill(void *buf, uint64_t len)
{
	uint64_t b, word;

	for (b = 0; b * PERF_BLOCK + sizeof(word) <= len; b++) {
		word = perf_pattern_word(b);
		memcpy((char *)buf + b * PERF_BLOCK, &word, sizeof(word));
	}
}

/*
 * @len bytes at @buf, which begin at byte @off of their message.  Returns how many
 * words were right and wiped, or -1 at the first that was not.
 */
static inline int64_t perf_pattern_check(void *buf, uint64_t off, uint64_t len)
{
	uint64_t at = (PERF_BLOCK - off % PERF_BLOCK) % PERF_BLOCK, word;
	int64_t good = 0;

	for (; at + sizeof(word) <= len; at += PERF_BLOCK, good++) {
		char *p = (char *)buf + at;

		memcpy(&word, p, sizeof(word));
		if (word != perf_pattern_word((off + at) / PERF_BLOCK))
			return -1;
		memset(p, 0, sizeof(word));
	}
	return good;
}

#endif /* PERF_PATTERN_H */
