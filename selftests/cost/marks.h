/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a program in a guest says to insns.so: count from here, and up to here.
 * To a processor each is a NOP, so a program with marks runs everywhere.
 */
#ifndef COST_MARKS_H
#define COST_MARKS_H

#define MARK_BEGIN	0x444d5301
#define MARK_END	0x444d5302

static inline void mark_begin(void)
{
	__asm__ volatile("nopl %c0(%%rax)" : : "i" (MARK_BEGIN) : "memory");
}

static inline void mark_end(void)
{
	__asm__ volatile("nopl %c0(%%rax)" : : "i" (MARK_END) : "memory");
}

#endif /* COST_MARKS_H */
