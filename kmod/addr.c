// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses of peers.
 *
 * A listener on :: sees IPv4 peers as mapped addresses, a process names them as
 * IPv4: dms_addr_normalise() brings both to one form, and everything else here
 * expects that form.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "addr.h"

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/inet.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <net/ipv6.h>

#define DMS_PREFIXES_MAX	64
#define DMS_ALLOW_TEXT		1024

/**
 * dms_addr_normalise() - IPv4-mapped addresses become IPv4 ones
 * @ss: AF_INET or AF_INET6
 *
 * What does not tell two peers apart is cleared: the flow label, and the scope
 * of an address that is not link-local.  Context: any.
 */
void dms_addr_normalise(struct sockaddr_storage *ss)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in in = { .sin_family = AF_INET };

	if (ss->ss_family != AF_INET6)
		return;
	in6->sin6_flowinfo = 0;
	if (!(ipv6_addr_type(&in6->sin6_addr) & IPV6_ADDR_LINKLOCAL))
		in6->sin6_scope_id = 0;
	if (!ipv6_addr_v4mapped(&in6->sin6_addr))
		return;
	in.sin_port = in6->sin6_port;
	in.sin_addr.s_addr = in6->sin6_addr.s6_addr32[3];
	memset(ss, 0, sizeof(*ss));
	memcpy(ss, &in, sizeof(in));
}

/**
 * dms_addr_same_host() - are two addresses the same, but for the port?
 * @a: normalised
 * @b: normalised
 *
 * Context: any.
 */
bool dms_addr_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in6 *b6 = (const struct sockaddr_in6 *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	return ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr) &&
	       a6->sin6_scope_id == b6->sin6_scope_id;
}

/**
 * dms_addr_port() - the port, in host order
 * @ss: AF_INET or AF_INET6
 */
u16 dms_addr_port(const struct sockaddr_storage *ss)
{
	/* both families have it at the same place */
	return ntohs(((const struct sockaddr_in *)ss)->sin_port);
}

/**
 * dms_addr_set_port() - change the port
 * @ss: AF_INET or AF_INET6
 * @port: in host order
 */
void dms_addr_set_port(struct sockaddr_storage *ss, u16 port)
{
	((struct sockaddr_in *)ss)->sin_port = htons(port);
}

/**
 * dms_addr_len() - bytes of the address as calls of sockets want them
 * @ss: AF_INET or AF_INET6
 */
int dms_addr_len(const struct sockaddr_storage *ss)
{
	return ss->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
					   sizeof(struct sockaddr_in);
}

/**
 * dms_addr_to_wire() - as HELLO lists it
 * @ss: normalised
 * @wire: IPv6; IPv4 as ::ffff:a.b.c.d
 */
void dms_addr_to_wire(const struct sockaddr_storage *ss, u8 wire[16])
{
	struct in6_addr a;

	if (ss->ss_family == AF_INET6)
		a = ((const struct sockaddr_in6 *)ss)->sin6_addr;
	else
		ipv6_addr_set_v4mapped(((const struct sockaddr_in *)ss)->sin_addr.s_addr, &a);
	memcpy(wire, &a, sizeof(a));
}

/**
 * dms_addr_from_wire() - the reverse of dms_addr_to_wire()
 * @ss: out: normalised, port 0
 * @wire: 16 bytes of a HELLO
 * @scope_id: interface, should it be a link-local address
 */
void dms_addr_from_wire(struct sockaddr_storage *ss, const u8 wire[16], u32 scope_id)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;

	memset(ss, 0, sizeof(*ss));
	in6->sin6_family = AF_INET6;
	in6->sin6_scope_id = scope_id;
	memcpy(&in6->sin6_addr, wire, sizeof(in6->sin6_addr));
	dms_addr_normalise(ss);
}

/*
 * ---- Who may connect ----
 */

struct dms_prefix {
	struct in6_addr	addr;		/* IPv4 as mapped */
	unsigned int	len;		/* of the IPv6 form: 96 more for IPv4 */
};

struct dms_allow {
	unsigned int		nr;	/* 0: everybody */
	struct dms_prefix	prefix[DMS_PREFIXES_MAX];
	char			text[DMS_ALLOW_TEXT];	/* what the administrator wrote */
};

/* allow_lock: allow.  Process context, innermost. */
static DEFINE_SPINLOCK(allow_lock);
static struct dms_allow allow;

static int prefix_parse(char *text, struct dms_prefix *p)
{
	char *slash = strchr(text, '/');
	unsigned int max = 128;
	unsigned int len;
	__be32 v4;

	if (slash)
		*slash++ = '\0';
	if (in4_pton(text, -1, (u8 *)&v4, -1, NULL)) {
		ipv6_addr_set_v4mapped(v4, &p->addr);
		max = 32;
	} else if (!in6_pton(text, -1, (u8 *)&p->addr, -1, NULL)) {
		return -EINVAL;
	}
	len = max;
	if (slash && kstrtouint(slash, 10, &len))
		return -EINVAL;
	if (len > max)
		return -EINVAL;
	p->len = 128 - max + len;
	return 0;
}

static int allow_parse(char *text, struct dms_allow *a)
{
	char *word;

	while ((word = strsep(&text, ","))) {
		word = strim(word);
		if (!*word)
			continue;
		if (a->nr == DMS_PREFIXES_MAX)
			return -E2BIG;
		if (prefix_parse(word, &a->prefix[a->nr]))
			return -EINVAL;
		a->nr++;
	}
	return 0;
}

/* A list that cannot be read is refused as a whole; the one before stays. */
static int allow_set(const char *val, const struct kernel_param *kp)
{
	struct dms_allow *a;
	char *text;
	int err = -ENOMEM;

	if (strlen(val) >= DMS_ALLOW_TEXT)
		return -E2BIG;
	a = kzalloc(sizeof(*a), GFP_KERNEL);
	text = kstrdup(val, GFP_KERNEL);
	if (!a || !text)
		goto out;
	strscpy(a->text, strim(text), sizeof(a->text));
	err = allow_parse(text, a);
	if (err)
		goto out;
	spin_lock(&allow_lock);
	allow = *a;
	spin_unlock(&allow_lock);
out:
	kfree(text);
	kfree(a);
	return err;
}

static int allow_get(char *buffer, const struct kernel_param *kp)
{
	int n;

	spin_lock(&allow_lock);
	n = scnprintf(buffer, PAGE_SIZE, "%s\n", allow.text);
	spin_unlock(&allow_lock);
	return n;
}

static const struct kernel_param_ops allow_ops = {
	.set = allow_set,
	.get = allow_get,
};

module_param_cb(allow, &allow_ops, NULL, 0644);
MODULE_PARM_DESC(allow, "prefixes from which peers may connect, comma-separated, such as 10.0.0.0/8,fd00::/64 (default: empty, all)");

/**
 * dms_addr_allowed() - may this peer connect?
 * @ss: normalised
 *
 * Context: process.
 */
bool dms_addr_allowed(const struct sockaddr_storage *ss)
{
	struct in6_addr a;
	bool ok;
	unsigned int i;

	dms_addr_to_wire(ss, (u8 *)&a);
	spin_lock(&allow_lock);
	ok = !allow.nr;
	for (i = 0; !ok && i < allow.nr; i++)
		ok = ipv6_prefix_equal(&a, &allow.prefix[i].addr, allow.prefix[i].len);
	spin_unlock(&allow_lock);
	return ok;
}

/**
 * dms_addr_plain() - IPv4 addresses as such, which rdma_cm wants
 * @to: out
 * @from: normalised
 */
void dms_addr_plain(struct sockaddr_storage *to, const struct sockaddr_storage *from)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)from;

	*to = *from;
	if (from->ss_family == AF_INET6 && ipv6_addr_v4mapped(&in6->sin6_addr)) {
		struct sockaddr_in in = {
			.sin_family = AF_INET,
			.sin_port = in6->sin6_port,
			.sin_addr.s_addr = in6->sin6_addr.s6_addr32[3],
		};

		memset(to, 0, sizeof(*to));
		memcpy(to, &in, sizeof(in));
	}
}
