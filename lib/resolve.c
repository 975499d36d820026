// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * Host names and addresses to struct dmastream_addr, and back.
 */
#define _GNU_SOURCE	/* EAI_NODATA, EAI_ADDRFAMILY */
#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "internal.h"

#define HOST_MAX	256

static int parse_port(const char *text, uint32_t *port)
{
	unsigned long v;
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	v = strtoul(text, &end, 10);
	if (errno || *end || !v || v > 65535)
		return -EINVAL;
	*port = (uint32_t)v;
	return 0;
}

/*
 * "host", "host:port", "[address]", "[address]:port"; more than one colon
 * without brackets is an IPv6 address alone.
 */
static int split_host(const char *text, char host[HOST_MAX], uint32_t *port)
{
	const char *colon = strchr(text, ':');
	const char *start = text;
	size_t len = strlen(text);
	const char *end;

	if (*text == '[') {
		start = text + 1;
		end = strchr(start, ']');
		if (!end || (end[1] && end[1] != ':'))
			return -EINVAL;
		len = (size_t)(end - start);
		colon = end[1] ? end + 1 : NULL;
	} else if (colon && !strchr(colon + 1, ':')) {
		len = (size_t)(colon - text);
	} else {
		colon = NULL;
	}
	if (!len || len >= HOST_MAX)
		return -EINVAL;
	memcpy(host, start, len);
	host[len] = 0;
	return colon ? parse_port(colon + 1, port) : 0;
}

static int gai_errno(int code)
{
	switch (code) {
	case EAI_AGAIN:
		return -EAGAIN;
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_SYSTEM:
		return errno ? -errno : -EIO;
	case EAI_NONAME:
	case EAI_NODATA:
	case EAI_ADDRFAMILY:
		return -EADDRNOTAVAIL;
	default:
		return -EINVAL;
	}
}

static int addr_from_sockaddr(const struct sockaddr *sa, uint32_t port,
			      struct dmastream_addr *addr)
{
	memset(addr, 0, sizeof(*addr));
	addr->port = htons((uint16_t)port);
	if (sa->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)sa;

		addr->family = AF_INET;
		memcpy(addr->addr, &in->sin_addr, 4);
		return 0;
	}
	if (sa->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)sa;

		addr->family = AF_INET6;
		addr->scope_id = in6->sin6_scope_id;
		memcpy(addr->addr, &in6->sin6_addr, 16);
		return 0;
	}
	return -EAFNOSUPPORT;
}

/*
 * @family: AF_INET, AF_INET6, or AF_UNSPEC for both; @port: where @text names
 * none, 0 is the node's default.  Returns how many of @addrs were filled.
 * May ask a name server, and so block.
 */
int dmastream_resolve(const char *text, int family, uint32_t port,
		      struct dmastream_addr *addrs, uint32_t max)
{
	struct addrinfo hints = {
		.ai_family = family,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *list, *ai;
	char host[HOST_MAX];
	uint32_t n = 0;
	int ret;

	if (port > 65535)
		return -EINVAL;
	ret = split_host(text, host, &port);
	if (ret)
		return ret;
	ret = getaddrinfo(host, NULL, &hints, &list);
	if (ret)
		return gai_errno(ret);
	for (ai = list; ai && n < max; ai = ai->ai_next)
		if (!addr_from_sockaddr(ai->ai_addr, port, &addrs[n]))
			n++;
	freeaddrinfo(list);
	return n ? (int)n : -EADDRNOTAVAIL;
}

const char *dmastream_addr_text(const struct dmastream_addr *addr, char *buf,
				size_t size)
{
	char host[INET6_ADDRSTRLEN], scope[IF_NAMESIZE + 1] = "";
	uint32_t port = ntohs(addr->port);

	if (!port)
		port = DMASTREAM_PORT;
	if (addr->family == AF_INET) {
		inet_ntop(AF_INET, addr->addr, host, sizeof(host));
		snprintf(buf, size, "%s:%u", host, port);
	} else if (addr->family == AF_INET6) {
		inet_ntop(AF_INET6, addr->addr, host, sizeof(host));
		if (addr->scope_id) {
			scope[0] = '%';
			if (!if_indextoname(addr->scope_id, scope + 1))
				snprintf(scope, sizeof(scope), "%%%u",
					 addr->scope_id);
		}
		snprintf(buf, size, "[%s%s]:%u", host, scope, port);
	} else {
		snprintf(buf, size, "(no address)");
	}
	return buf;
}
