// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmssim: sizes of published workloads.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dmssim_load.h"

/*
 * Blocks of 512 tokens that a request of an LLM conversation service reads from the
 * cache: column hit_blocks of percentiles of
 * FAST25-release/traces/conversation_trace.jsonl of kvcache-ai/Mooncake (Apache-2.0).
 */
static struct sim_table_row kv_conversation[] = {
	{ 0, 0 }, { 0.1, 1 }, { 45, 1 }, { 50, 1 }, { 55, 1 }, { 60, 1 }, { 65, 2 }, { 70, 4 },
	{ 75, 7 }, { 80, 11 }, { 85, 16 }, { 90, 25 }, { 95, 43 }, { 98, 67 }, { 99, 106 },
	{ 99.5, 143 }, { 99.9, 195 }, { 99.99, 240 }, { 100, 240 },
};

/*
 * 61 layers x 576 values x 2 bytes for each token (a model with latent attention), 512
 * tokens.
 */
#define KV_BLOCK	(61U * 576 * 2 * 512)

/*
 * Answers of recommendation services, as DCPerf's feedsim states percentiles of
 * production; read second hand.  What is below the median is taken as even.
 */
static struct sim_table_row recommendation[] = {
	{ 0, 1 }, { 50, 44 }, { 75, 149000 }, { 95, 2100000 }, { 100, 10300000 },
};

static const struct {
	const char *name;
	struct sim_table table;
	uint32_t block;
} tables[] = {
	{ "kv-conversation",
	  { kv_conversation, ARRAY_SIZE(kv_conversation) }, KV_BLOCK },
	{ "recommendation",
	  { recommendation, ARRAY_SIZE(recommendation) }, 0 },
};

const struct sim_table *sim_table_named(const char *name, uint32_t *block)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		if (!strcmp(name, tables[i].name)) {
			*block = tables[i].block;
			return &tables[i].table;
		}
	}
	return NULL;
}

/*
 * BERT-base in fp32: J. Devlin et al., NAACL 2019: 12 layers, width 768, 3,072 inside,
 * 30,522 words, 512 places.
 */
#define BERT	768ULL
static const struct sim_tensors bert_base[] = {
	{ 0, 1, 1, 30522 * BERT * 4 }, { 0, 1, 1, 512 * BERT * 4 }, { 0, 1, 1, 2 * BERT * 4 },
	{ 0, 1, 2, BERT * 4 },
	{ 1, 12, 4, BERT * BERT * 4 }, { 1, 12, 4, BERT * 4 },
	{ 1, 12, 2, BERT * 3072 * 4 }, { 1, 12, 1, 3072 * 4 }, { 1, 12, 1, BERT * 4 },
	{ 1, 12, 4, BERT * 4 },
	{ 2, 1, 1, BERT * BERT * 4 }, { 2, 1, 1, BERT * 4 },
};

/*
 * Llama 3 8B in bf16: A. Grattafiori et al., "The Llama 3 Herd of Models", 2024: 32
 * layers, width 4,096, 14,336 inside, 8 KV heads of 128, 128,256 words.
 */
#define LLAMA	4096ULL
static const struct sim_tensors llama3_8b[] = {
	{ 0, 1, 1, 128256 * LLAMA * 2 },
	{ 1, 32, 2, LLAMA * LLAMA * 2 }, { 1, 32, 2, LLAMA * 1024 * 2 },
	{ 1, 32, 3, LLAMA * 14336 * 2 }, { 1, 32, 2, LLAMA * 2 },
	{ 2, 1, 1, LLAMA * 2 }, { 2, 1, 1, 128256 * LLAMA * 2 },
};

static const struct sim_model models[] = {
	{ "bert-base", bert_base, ARRAY_SIZE(bert_base) },
	{ "llama3-8b", llama3_8b, ARRAY_SIZE(llama3_8b) },
};

const struct sim_model *sim_model_named(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(models); i++)
		if (!strcmp(name, models[i].name))
			return &models[i];
	return NULL;
}

uint64_t sim_model_bytes(const struct sim_model *m)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < m->nr; i++)
		sum += m->row[i].bytes * m->row[i].count * m->row[i].times;
	return sum;
}

/* Rows "percentile,bytes", ascending, from 0 to 100; # and a head are passed over. */
const struct sim_table *sim_table_read(const char *file)
{
	static struct sim_table read;	/* the program reads one */
	struct sim_table *t = &read;
	FILE *f = fopen(file, "r");
	double percent, value;
	char line[256];

	if (!f)
		goto bad;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lf,%lf", &percent, &value) != 2)
			continue;
		if (value < 0 || value > 0x7fffffff ||
		    (t->nr ? percent <= t->row[t->nr - 1].percent : percent != 0)) {
			errno = EINVAL;
			goto bad;
		}
		t->row = sim_realloc(t->row, (t->nr + 1) * sizeof(*t->row));
		t->row[t->nr].percent = percent;
		t->row[t->nr++].value = value;
	}
	if (t->nr < 2 || t->row[t->nr - 1].percent != 100) {
		errno = EINVAL;
		goto bad;
	}
	fclose(f);
	return t;
bad:
	if (f)
		fclose(f);
	free(t->row);
	memset(t, 0, sizeof(*t));
	return NULL;
}
