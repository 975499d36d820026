// SPDX-License-Identifier: GPL-2.0-only
/*
 * What it costs to get memory that the NIC may use, and to give it back; counted by the
 * plugin between marks, and told here in the same order.
 *
 *	memory dmastream | malloc | verbs DEVICE | ucx DEVICE
 *
 * dmastream  an object of a heap, and where it is in its pool
 * malloc     of the C library, or of jemalloc when that is preloaded; no NIC may use it
 * verbs      the same, and ibv_reg_mr() and ibv_dereg_mr() for each buffer
 * ucx        the same, and uct_md_mem_reg(), with its cache, which has seen the buffer
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>
#include <uct/api/uct.h>

#include <dmastream.h>

#include "marks.h"

#define ROUNDS	64
#define LIVE	8		/* buffers at a time */

#define SIZES	4

static const size_t sizes[SIZES] = { 64, 4096, 65536, 1 << 20 };

static const char *what;

static void die(const char *where, long err)
{
	fprintf(stderr, "memory: %s: %s: %ld\n", what, where, err);
	exit(1);
}

struct kind {
	void *(*get)(size_t size, void **handle);
	void (*put)(void *p, void *handle);
};

/* ---- dmastream ---- */

static struct dmastream_heap *heap;
static volatile uint64_t sink;

static void dmastream_begin(void)
{
	struct dmastream *ctx;
	struct dmastream_pool *pool;
	int ret = dmastream_open(&ctx, NULL);

	if (!ret)
		ret = dmastream_pool_create(ctx, 32 << 20, -1, &pool);
	if (!ret)
		ret = dmastream_heap_create(&heap);
	if (!ret)
		ret = dmastream_heap_add(heap, pool, 0, 0);
	if (ret)
		die("heap", ret);
}

static void *dmastream_get(size_t size, void **handle)
{
	void *p = dmastream_alloc(heap, size);
	uint32_t pool;
	uint64_t off;

	(void)handle;
	if (!p || dmastream_heap_locate(heap, p, &pool, &off))
		die("alloc", 0);
	sink = off + pool;
	return p;
}

static void dmastream_put(void *p, void *handle)
{
	(void)handle;
	if (dmastream_free(heap, p))
		die("free", 0);
}

/* ---- malloc ---- */

static void *malloc_get(size_t size, void **handle)
{
	void *p = malloc(size);

	(void)handle;
	if (!p)
		die("malloc", 0);
	__asm__ volatile("" : : "r" (p) : "memory");
	return p;
}

static void malloc_put(void *p, void *handle)
{
	(void)handle;
	free(p);
}

/* ---- verbs ---- */

static struct ibv_pd *pd;

static void verbs_begin(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	if (!pd)
		die("device", 0);
}

static void *verbs_get(size_t size, void **handle)
{
	void *p = malloc_get(size, NULL);

	*handle = ibv_reg_mr(pd, p, size, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			     IBV_ACCESS_REMOTE_READ);
	if (!*handle)
		die("ibv_reg_mr", 0);
	return p;
}

static void verbs_put(void *p, void *handle)
{
	if (ibv_dereg_mr(handle))
		die("ibv_dereg_mr", 0);
	free(p);
}

/* ---- UCX ---- */

static uct_md_h md;

static int ucx_open(uct_component_h component, const char *name)
{
	uct_component_attr_t attr = { .field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT };
	uct_md_resource_desc_t mds[16];
	uct_md_config_t *config;
	unsigned int i;

	if (uct_component_query(component, &attr) || attr.md_resource_count > 16)
		return 0;
	attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
	attr.md_resources = mds;
	if (uct_component_query(component, &attr))
		return 0;
	for (i = 0; i < attr.md_resource_count; i++) {
		if (strcmp(mds[i].md_name, name))
			continue;
		if (uct_md_config_read(component, NULL, NULL, &config))
			return 0;
		return !uct_md_open(component, name, config, &md);
	}
	return 0;
}

static void ucx_begin(const char *name)
{
	uct_component_h *components;
	unsigned int n, i;

	if (uct_query_components(&components, &n))
		die("components", 0);
	for (i = 0; i < n; i++)
		if (ucx_open(components[i], name))
			return;
	die("device", 0);
}

static void *ucx_get(size_t size, void **handle)
{
	void *p = malloc_get(size, NULL);
	ucs_status_t status = uct_md_mem_reg(md, p, size, UCT_MD_MEM_ACCESS_ALL, handle);

	if (status)
		die("uct_md_mem_reg", status);
	return p;
}

static void ucx_put(void *p, void *handle)
{
	if (uct_md_mem_dereg(md, handle))
		die("uct_md_mem_dereg", 0);
	free(p);
}

/* ---- */

static void rounds(const struct kind *k, size_t size, int n)
{
	void *p[LIVE], *handle[LIVE];
	int i;

	while (n--) {
		for (i = 0; i < LIVE; i++)
			p[i] = k->get(size, &handle[i]);
		for (i = 0; i < LIVE; i++)
			k->put(p[i], handle[i]);
	}
}

int main(int argc, char **argv)
{
	struct kind k = { malloc_get, malloc_put };
	size_t i;

	what = argc > 1 ? argv[1] : "malloc";
	if (!strcmp(what, "dmastream")) {
		dmastream_begin();
		k = (struct kind){ dmastream_get, dmastream_put };
	} else if (!strcmp(what, "verbs") && argc > 2) {
		verbs_begin(argv[2]);
		k = (struct kind){ verbs_get, verbs_put };
	} else if (!strcmp(what, "ucx") && argc > 2) {
		ucx_begin(argv[2]);
		k = (struct kind){ ucx_get, ucx_put };
	}
	for (i = 0; i < SIZES; i++) {
		rounds(&k, sizes[i], 4);
		mark_begin();
		rounds(&k, sizes[i], ROUNDS);
		mark_end();
		printf("memory what=%s size=%zu buffers=%d\n", argc > 3 ? argv[3] : what,
		       sizes[i], ROUNDS * LIVE);
	}
	return 0;
}
