// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmsctl: requests to the generic netlink family.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libmnl/libmnl.h>
#include <linux/genetlink.h>

#include <dmastream.h>
#include <linux/dmastream_netlink.h>

#include "dmsctl.h"

#define BUF_SIZE	32768	/* what the kernel puts into one read at most */
#define EVENTS_BUF	(1 << 20)	/* that wait for a reader; the system has a limit */

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

/* A family, and one of its multicast groups. */
struct family {
	const char	*name;
	const char	*group;		/* NULL: none is looked for */
	uint16_t	id;
	uint32_t	group_id;
};

static int group_cb(const struct nlattr *nest, void *data)
{
	const struct nlattr *attr[CTL_ATTR_MAX] = { NULL };
	struct family *f = data;

	if (mnl_attr_parse_nested(nest, attr_cb, attr) >= 0 &&
	    !strcmp(ctl_str(attr[CTRL_ATTR_MCAST_GRP_NAME]), f->group))
		f->group_id = ctl_u32(attr[CTRL_ATTR_MCAST_GRP_ID]);
	return MNL_CB_OK;
}

static void family_fn(const struct nlattr *const *attr, void *arg)
{
	struct family *f = arg;

	if (attr[CTRL_ATTR_FAMILY_ID])
		f->id = mnl_attr_get_u16(attr[CTRL_ATTR_FAMILY_ID]);
	if (f->group && attr[CTRL_ATTR_MCAST_GROUPS])
		mnl_attr_parse_nested(attr[CTRL_ATTR_MCAST_GROUPS], group_cb, f);
}

static int find(struct ctl_nl *nl, struct family *f)
{
	struct reader r = { .fn = family_fn, .arg = f };
	struct nlmsghdr *nlh;
	int ret;

	nlh = prepare(nl, GENL_ID_CTRL, NLM_F_ACK, CTRL_CMD_GETFAMILY, 1);
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, f->name);
	ret = request(nl, nlh, &r);
	if (ret)
		return ret;
	return f->id && (!f->group || f->group_id) ? 0 : -ENOENT;
}

int ctl_nl_open(struct ctl_nl **out)
{
	struct family f = { .name = DMASTREAM_GENL_NAME };
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
	ret = find(nl, &f);
	if (ret)
		goto fail;
	nl->family = f.id;
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

static int join(struct ctl_nl *nl, const char *name, const char *group)
{
	struct family f = { .name = name, .group = group };
	int ret = find(nl, &f);

	if (ret)
		return ret == -ENOENT ? -EOPNOTSUPP : ret;
	return mnl_socket_setsockopt(nl->sock, NETLINK_ADD_MEMBERSHIP, &f.group_id,
				     sizeof(f.group_id)) < 0 ? -errno : 0;
}

/* With nlctrl's own group, which tells that the family goes. */
int ctl_nl_listen(struct ctl_nl *nl)
{
	int size = EVENTS_BUF, ret;

	setsockopt(mnl_socket_get_fd(nl->sock), SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	ret = join(nl, "nlctrl", "notify");
	return ret ? ret : join(nl, DMASTREAM_GENL_NAME, DMASTREAM_GENL_EVENTS);
}

struct hearer {
	struct ctl_nl	*nl;
	struct reader	r;
	int		events;
	bool		gone;
};

static int hear_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr[CTL_ATTR_MAX] = { NULL };
	struct hearer *h = data;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*genl))
		return MNL_CB_OK;
	if (nlh->nlmsg_type == h->nl->family && genl->cmd == DMASTREAM_NL_EVENT) {
		h->events++;
		return msg_cb(nlh, &h->r);
	}
	if (nlh->nlmsg_type == GENL_ID_CTRL && genl->cmd == CTRL_CMD_DELFAMILY) {
		mnl_attr_parse(nlh, sizeof(*genl), attr_cb, attr);
		if (attr[CTRL_ATTR_FAMILY_ID] &&
		    mnl_attr_get_u16(attr[CTRL_ATTR_FAMILY_ID]) == h->nl->family)
			h->gone = true;
	}
	return MNL_CB_OK;
}

int ctl_nl_hear(struct ctl_nl *nl, int timeout_ms, ctl_msg_fn fn, void *arg)
{
	struct hearer h = { .nl = nl, .r = { .fn = fn, .arg = arg } };
	struct pollfd p = { .fd = mnl_socket_get_fd(nl->sock), .events = POLLIN };
	ssize_t n;

	if (poll(&p, 1, timeout_ms) < 0)
		return errno == EINTR ? 0 : -errno;
	if (!p.revents)
		return 0;
	n = mnl_socket_recvfrom(nl->sock, nl->buf, sizeof(nl->buf));
	if (n < 0)
		return -errno;
	/* none is an answer: any sequence, any port */
	if (mnl_cb_run(nl->buf, (size_t)n, 0, 0, hear_cb, &h) < 0)
		return -errno;
	return h.gone ? -ENODEV : h.events;
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

/* "-" when there is none */
const char *ctl_addr(const struct nlattr *attr, char *buf, size_t size)
{
	struct dmastream_addr addr = { 0 };

	if (attr && mnl_attr_get_payload_len(attr) >= sizeof(addr))
		memcpy(&addr, mnl_attr_get_payload(attr), sizeof(addr));
	return addr.family ? dmastream_addr_text(&addr, buf, size) : "-";
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
