// SPDX-License-Identifier: GPL-2.0-only
/*
 * A QEMU plugin that counts the guest's instructions by address, between two
 * marks that a program in the guest makes.
 *
 *	qemu-system-x86_64 -plugin insns.so,out=FILE ...
 *
 * Every block of code that QEMU translates gets a counter, which the generated
 * code itself increments.  A mark is a long NOP whose displacement says what it
 * is (marks.h); a processor does nothing for it.  At the second mark of a pair
 * one line for each block that ran in between is appended to FILE:
 *
 *	PAIR ADDRESS INSTRUCTIONS
 *
 * Counts are exact but for blocks that a fault left early.  One virtual CPU:
 * with several the increments may get lost.
 *
 * QEMU's header is not part of Debian's packages, so the few declarations of
 * the interface (version 1) that are used here are below.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "marks.h"

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info;
typedef void (*tb_trans_cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void (*exec_cb)(unsigned int cpu, void *data);
enum { CB_NO_REGS };
enum { INLINE_ADD_U64 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, tb_trans_cb cb);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op,
					      void *ptr, uint64_t imm);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, exec_cb cb,
					    int flags, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
			       char **argv);

/* Of one address and length; never freed, since generated code points to it. */
struct block {
	struct block	*next;		/* of the same hash */
	struct block	*all;
	uint64_t	addr;
	uint32_t	insns;
	uint64_t	runs;		/* incremented by generated code */
	uint64_t	runs_before;	/* at the first mark */
};

#define HASH_BITS 16

static struct block *hash[1 << HASH_BITS], *blocks;
static FILE *out;
static unsigned int pair;
static bool counting;

static struct block *block_of(uint64_t addr, uint32_t insns)
{
	uint32_t h = (uint32_t)((addr * 0x9e3779b97f4a7c15ULL) >> (64 - HASH_BITS));
	struct block *b;

	for (b = hash[h]; b; b = b->next)
		if (b->addr == addr && b->insns == insns)
			return b;
	b = calloc(1, sizeof(*b));
	if (!b)
		abort();
	b->addr = addr;
	b->insns = insns;
	b->next = hash[h];
	hash[h] = b;
	b->all = blocks;
	blocks = b;
	return b;
}

static void on_begin(unsigned int cpu, void *data)
{
	struct block *b;

	(void)cpu;
	(void)data;
	for (b = blocks; b; b = b->all)
		b->runs_before = b->runs;
	counting = true;
}

static void on_end(unsigned int cpu, void *data)
{
	struct block *b;

	(void)cpu;
	(void)data;
	if (!counting)
		return;
	counting = false;
	for (b = blocks; b; b = b->all)
		if (b->runs != b->runs_before)
			fprintf(out, "%u %llx %llu\n", pair, (unsigned long long)b->addr,
				(unsigned long long)(b->runs - b->runs_before) * b->insns);
	fflush(out);
	pair++;
}

/* 0f 1f 80 and four bytes of displacement: nopl disp(%rax) */
static exec_cb mark_of(const struct qemu_plugin_insn *insn)
{
	static const uint8_t nopl[3] = { 0x0f, 0x1f, 0x80 };
	const uint8_t *bytes = qemu_plugin_insn_data(insn);
	uint32_t disp;

	if (qemu_plugin_insn_size(insn) != 7 || memcmp(bytes, nopl, sizeof(nopl)))
		return NULL;
	memcpy(&disp, bytes + sizeof(nopl), sizeof(disp));
	return disp == MARK_BEGIN ? on_begin : disp == MARK_END ? on_end : NULL;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), i;

	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD_U64,
						 &block_of(qemu_plugin_tb_vaddr(tb), n)->runs, 1);
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		exec_cb cb = mark_of(insn);

		if (cb)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, cb, CB_NO_REGS, NULL);
	}
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc,
			       char **argv)
{
	int i;

	(void)info;
	for (i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			out = fopen(argv[i] + 4, "w");
	if (!out) {
		fprintf(stderr, "insns: out=FILE is missing, or cannot be written\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
