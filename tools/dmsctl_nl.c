// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmsctl: requests to the generic netlink family.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libmnl/libmnl.h>
#include <linux/genetlink.h>

#include <linux/dmastream_netlink.h>

#include "dmsctl.h"

#define BUF_SIZE	32768	/* what the kernel puts into one read at most */

struct ctl_nl {
	struct mnl_socket	*sock;
	uint32_t		seq;
	uint16_t		family;
	char			buf[BUF_SIZE];
};

struct reader {
	ctl_msg_fn	fn;
	void		*arg;
};

static int attr_cb(const struct nlattr *attr, void *data)
{
	const struct nlattr **table = data;
	uint16_t type = mnl_attr_get_type(attr);

	/* what a newer kernel tells is skipped */
	if (type < CTL_ATTR_MAX)
		table[type] = attr;
	return MNL_CB_OK;
}

static int msg_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *table[CTL_ATTR_MAX] = { NULL };
	struct reader *r = data;

	mnl_attr_parse(nlh, sizeof(struct genlmsghdr), attr_cb, table);
	r->fn(table, r->arg);
	return MNL_CB_OK;
}

static int request(struct ctl_nl *nl, struct nlmsghdr *nlh, struct reader *r)
{
	unsigned int port = mnl_socket_get_portid(nl->sock);
	ssize_t n;
	int ret;

	if (mnl_socket_sendto(nl->sock, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	do {
		n = mnl_socket_recvfrom(nl->sock, nl->buf, sizeof(nl->buf));
		if (n < 0)
			return -errno;
		ret = mnl_cb_run(nl->buf, (size_t)n, nl->seq, port, msg_cb, r);
	} while (ret > 0);
	return ret < 0 ? -errno : 0;
}

static struct nlmsghdr *prepare(struct ctl_nl *nl, uint16_t type, uint16_t flags,
				uint8_t cmd, uint8_t version)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(nl->buf);
	struct genlmsghdr *genl;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	nlh->nlmsg_seq = ++nl->seq;
	genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	genl->cmd = cmd;
	genl->version = version;
	return nlh;
}

static void family_fn(const struct nlattr *const *attr, void *arg)
{
	uint16_t *family = arg;

	if (attr[CTRL_ATTR_FAMILY_ID])
		*family = mnl_attr_get_u16(attr[CTRL_ATTR_FAMILY_ID]);
}

int ctl_nl_open(struct ctl_nl **out)
{
	struct reader r = { .fn = family_fn };
	struct nlmsghdr *nlh;
	struct ctl_nl *nl;
	int ret;

	nl = calloc(1, sizeof(*nl));
	if (!nl)
		return -ENOMEM;
	nl->seq = (uint32_t)time(NULL);
	nl->sock = mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC);
	if (!nl->sock || mnl_socket_bind(nl->sock, 0, MNL_SOCKET_AUTOPID) < 0) {
		ret = -errno;
		goto fail;
	}
	r.arg = &nl->family;
	nlh = prepare(nl, GENL_ID_CTRL, NLM_F_ACK, CTRL_CMD_GETFAMILY, 1);
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, DMASTREAM_GENL_NAME);
	ret = request(nl, nlh, &r);
	if (!ret && !nl->family)
		ret = -ENOENT;
	if (ret)
		goto fail;
	*out = nl;
	return 0;

fail:
	ctl_nl_close(nl);
	return ret;
}

void ctl_nl_close(struct ctl_nl *nl)
{
	if (nl->sock)
		mnl_socket_close(nl->sock);
	free(nl);
}

/* A dump that was interrupted by a change is complete in what it told. */
int ctl_nl_get(struct ctl_nl *nl, uint8_t cmd, bool dump, ctl_msg_fn fn, void *arg)
{
	struct reader r = { .fn = fn, .arg = arg };

	return request(nl, prepare(nl, nl->family, dump ? NLM_F_DUMP : NLM_F_ACK,
				   cmd, DMASTREAM_GENL_VERSION), &r);
}

uint64_t ctl_u64(const struct nlattr *attr)
{
	uint64_t v;

	if (!attr || mnl_attr_get_payload_len(attr) < sizeof(v))
		return attr ? ctl_u32(attr) : 0;
	memcpy(&v, mnl_attr_get_payload(attr), sizeof(v));
	return v;
}

uint32_t ctl_u32(const struct nlattr *attr)
{
	uint32_t v;

	if (!attr || mnl_attr_get_payload_len(attr) < sizeof(v))
		return 0;
	memcpy(&v, mnl_attr_get_payload(attr), sizeof(v));
	return v;
}

const char *ctl_str(const struct nlattr *attr)
{
	uint16_t len = attr ? mnl_attr_get_payload_len(attr) : 0;
	const char *s = len ? mnl_attr_get_payload(attr) : "";

	return len && !s[len - 1] ? s : "";
}

struct nest_reader {
	void (*fn)(uint32_t type, uint64_t value, void *arg);
	void *arg;
};

static int nest_cb(const struct nlattr *attr, void *data)
{
	struct nest_reader *r = data;

	if (mnl_attr_get_payload_len(attr) == sizeof(uint64_t))
		r->fn(mnl_attr_get_type(attr), ctl_u64(attr), r->arg);
	return MNL_CB_OK;
}

/* Calls @fn for each u64 of a nest. */
int ctl_nested(const struct nlattr *nest, void (*fn)(uint32_t type, uint64_t value, void *arg),
	       void *arg)
{
	struct nest_reader r = { .fn = fn, .arg = arg };

	if (!nest)
		return -ENODATA;
	return mnl_attr_parse_nested(nest, nest_cb, &r) < 0 ? -errno : 0;
}
