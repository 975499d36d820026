// SPDX-License-Identifier: GPL-2.0-only
/*
 * A node: this module in one network namespace; its listeners; parameters.
 *
 * No socket of ours holds a reference on its namespace, so that an unused one
 * can go.  When it goes, pernet exit ends all sessions and waits for them,
 * before the namespace's devices are taken away: the node is registered as a
 * pernet device for this order, and so that rdma_cm's identifiers are gone
 * before rdma_cm's own exit looks for them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "node.h"

#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/in.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/notifier.h>
#include <linux/random.h>
#include <linux/reboot.h>
#include <linux/rtnetlink.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/sock.h>
#include <net/tcp_states.h>

#include <linux/dmastream.h>

#include "addr.h"
#include "cm.h"
#include "events.h"
#include "session.h"
#include "wq.h"

/* Connections taken from the queue in one run of the work. */
#define DMS_ACCEPT_BUDGET	32
/* TCP's own queue of connections that are not accepted yet. */
#define DMS_TCP_BACKLOG		1024
/* After an error that is not the peer's: no memory, say. */
#define DMS_ACCEPT_RETRY	msecs_to_jiffies(100)
/* That a reboot waits for queue pairs which do not end. */
#define DMS_REBOOT_LIMIT	(10 * HZ)

unsigned int dms_param_port = DMASTREAM_PORT;
module_param_named(port, dms_param_port, uint, 0644);
MODULE_PARM_DESC(port, "TCP and rdma_cm port that the next listener uses, 1 to 65535 (default 7477)");

static char *dms_param_bind_addr = "::";
module_param_named(bind_addr, dms_param_bind_addr, charp, 0444);
MODULE_PARM_DESC(bind_addr, "address to listen on (default ::, IPv4 as well; 0.0.0.0 when IPv6 is off)");

unsigned int dms_param_keepalive_ms = 1000;
module_param_named(keepalive_ms, dms_param_keepalive_ms, uint, 0644);
MODULE_PARM_DESC(keepalive_ms, "a peer that was silent for so long is asked for a sign of life, in ms (default 1000)");

unsigned int dms_param_peer_lost_ms = 5000;
module_param_named(peer_lost_ms, dms_param_peer_lost_ms, uint, 0644);
MODULE_PARM_DESC(peer_lost_ms, "a peer that was silent for so long is given up, in ms; 0: never (default 5000)");

unsigned int dms_param_handshake_ms = 10000;
module_param_named(handshake_ms, dms_param_handshake_ms, uint, 0644);
MODULE_PARM_DESC(handshake_ms, "limit of a session's handshake, queue pairs included, in ms (default 10000)");

unsigned int dms_param_session_idle_ms = 30000;
module_param_named(session_idle_ms, dms_param_session_idle_ms, uint, 0644);
MODULE_PARM_DESC(session_idle_ms, "a session without streams ends after so long, in ms (default 30000)");

unsigned int dms_param_eager_max = 8192;
module_param_named(eager_max, dms_param_eager_max, uint, 0644);
MODULE_PARM_DESC(eager_max, "longest message of a new session that is packed and copied, in bytes, 256 to 65536 (default 8192)");

unsigned int dms_param_slots = 256;
module_param_named(slots, dms_param_slots, uint, 0644);
MODULE_PARM_DESC(slots, "most receives posted per queue pair of a new session, 8 to 4096; it begins with slots_floor (default 256)");

unsigned int dms_param_qps = 2;
module_param_named(qps, dms_param_qps, uint, 0644);
MODULE_PARM_DESC(qps, "queue pairs of a new session's bulk lane; the lower of both sides counts, 1 to 8 (default 2)");

unsigned int dms_param_qps_latency = 1;
module_param_named(qps_latency, dms_param_qps_latency, uint, 0644);
MODULE_PARM_DESC(qps_latency, "queue pairs of a new session's latency lane; the lower of both sides counts, 0 to 8; 0: its streams use the bulk lane (default 1)");

unsigned int dms_param_max_embryos = 128;
module_param_named(max_embryos, dms_param_max_embryos, uint, 0644);
MODULE_PARM_DESC(max_embryos, "accepted connections in their handshake; one more puts out the oldest (default 128)");

unsigned int dms_param_max_sessions = 4096;
module_param_named(max_sessions, dms_param_max_sessions, uint, 0644);
MODULE_PARM_DESC(max_sessions, "sessions of a network namespace from which on peers are refused (default 4096)");

char *dms_param_node_name = "";
module_param_named(node_name, dms_param_node_name, charp, 0444);
MODULE_PARM_DESC(node_name, "name of this node that its peers' operators see, at most 63 characters (default: none)");

u8 dms_boot_nonce[DMS_WIRE_NONCE];

/* The TCP listener of a node. */
struct dms_acceptor {
	struct dms_node		*node;
	struct socket		*sock;
	struct delayed_work	work;
	void			(*data_ready)(struct sock *sk);	/* TCP's own */
};

/*
 * ---- Accepting ----
 */

/* Softirq.  Children that are not accepted yet have inherited it. */
static void acceptor_data_ready(struct sock *sk)
{
	void (*ready)(struct sock *sk) = NULL;
	struct dms_acceptor *a;

	read_lock_bh(&sk->sk_callback_lock);
	a = sk->sk_user_data;
	if (!a)
		ready = sk->sk_data_ready;	/* stopped at this moment */
	else if (sk->sk_state == TCP_LISTEN)
		mod_delayed_work(dms_wq, &a->work, 0);
	read_unlock_bh(&sk->sk_callback_lock);
	if (ready && ready != acceptor_data_ready)
		ready(sk);
}

/* What a child has of its listener, before anybody else sees it. */
static void acceptor_uninherit(struct dms_acceptor *a, struct sock *sk)
{
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = a->data_ready;
	sk->sk_user_data = NULL;
	write_unlock_bh(&sk->sk_callback_lock);
}

static void acceptor_work(struct work_struct *work)
{
	struct dms_acceptor *a = container_of(to_delayed_work(work), struct dms_acceptor, work);
	int budget = DMS_ACCEPT_BUDGET;
	struct socket *sock;
	int err;

	while (budget--) {
		err = kernel_accept(a->sock, &sock, O_NONBLOCK);
		if (err == -EAGAIN)
			return;
		if (err == -ECONNABORTED || err == -EPROTO)
			continue;
		if (err) {
			/* the callback comes only with the next connection */
			pr_warn_ratelimited("cannot accept a connection: error %d; trying again\n",
					    err);
			queue_delayed_work(dms_wq, &a->work, DMS_ACCEPT_RETRY);
			return;
		}
		acceptor_uninherit(a, sock->sk);
		dms_session_accept(a->node, sock);
	}
	queue_delayed_work(dms_wq, &a->work, 0);
}

static int acceptor_bind(struct dms_acceptor *a, struct sockaddr_storage *addr)
{
	struct socket *sock;
	int err;

	err = sock_create_kern(a->node->net, addr->ss_family, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (err)
		return err;
	sock_set_reuseaddr(sock->sk);
	if (addr->ss_family == AF_INET6) {
		/* :: is for IPv4 as well, whatever the sysctl bindv6only says */
		lock_sock(sock->sk);
		sock->sk->sk_ipv6only = false;
		release_sock(sock->sk);
	}
	err = kernel_bind(sock, (struct sockaddr *)addr, dms_addr_len(addr));
	if (err) {
		sock_release(sock);
		return err;
	}
	a->sock = sock;
	return 0;
}

static int acceptor_open(struct dms_acceptor *a, u16 port)
{
	struct sockaddr_storage addr = {};
	char text[8];
	int err;

	snprintf(text, sizeof(text), "%u", port);
	err = inet_pton_with_scope(a->node->net, AF_UNSPEC, dms_param_bind_addr, text, &addr);
	if (err) {
		pr_err_ratelimited("parameter bind_addr: '%s' is no address\n",
				   dms_param_bind_addr);
		return -EINVAL;
	}
	err = acceptor_bind(a, &addr);
	if ((err == -EAFNOSUPPORT || err == -EADDRNOTAVAIL) && addr.ss_family == AF_INET6 &&
	    inet_addr_is_any((struct sockaddr *)&addr)) {
		memset(&addr, 0, sizeof(addr));
		addr.ss_family = AF_INET;
		dms_addr_set_port(&addr, port);
		err = acceptor_bind(a, &addr);
	}
	return err;
}

static void acceptor_stop(struct dms_node *node)
{
	struct dms_acceptor *a = node->tcp;
	struct sock *sk;

	if (!a)
		return;
	node->tcp = NULL;
	sk = a->sock->sk;
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = a->data_ready;
	sk->sk_user_data = NULL;
	write_unlock_bh(&sk->sk_callback_lock);
	cancel_delayed_work_sync(&a->work);
	/* the children that nobody accepted go with it */
	sock_release(a->sock);
	kfree(a);
}

static int acceptor_start(struct dms_node *node, u16 port)
{
	struct dms_acceptor *a = kzalloc(sizeof(*a), GFP_KERNEL);
	struct sock *sk;
	int err;

	if (!a)
		return -ENOMEM;
	a->node = node;
	INIT_DELAYED_WORK(&a->work, acceptor_work);
	err = acceptor_open(a, port);
	if (err)
		goto free;
	sk = a->sock->sk;
	write_lock_bh(&sk->sk_callback_lock);
	a->data_ready = sk->sk_data_ready;
	sk->sk_user_data = a;
	sk->sk_data_ready = acceptor_data_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	node->tcp = a;
	err = kernel_listen(a->sock, DMS_TCP_BACKLOG);
	if (err)
		acceptor_stop(node);
	return err;

free:
	kfree(a);
	return err;
}

/*
 * ---- Listening ----
 */

static int node_listen(struct dms_node *node)
{
	unsigned int port = READ_ONCE(dms_param_port);
	int err;

	if (!port || port > 65535)
		return -EINVAL;
	err = acceptor_start(node, port);
	if (err)
		goto fail;
	/* one may be there still, for sessions that resume */
	if (node->rdma && node->port != port)
		dms_cm_unlisten(node);
	err = node->rdma ? 0 : dms_cm_listen(node, port);
	if (err)
		goto stop;
	WRITE_ONCE(node->port, port);
	return 0;

stop:
	acceptor_stop(node);
fail:
	pr_warn_ratelimited("cannot listen on port %u: error %d%s\n", port, err,
			    err == -EADDRINUSE ? "; another program has it, see parameter 'port'" :
			    "");
	return err;
}

/**
 * dms_node_listen_get() - a service is announced
 * @node: of the caller's namespace
 *
 * Context: process, may sleep, no lock held.
 * Return: 0; -ESHUTDOWN; what bind or rdma_cm say, -EADDRINUSE for one.
 */
int dms_node_listen_get(struct dms_node *node)
{
	int err = 0;

	mutex_lock(&node->listen_lock);
	if (READ_ONCE(node->going))
		err = -ESHUTDOWN;
	else if (!node->nr_listening)
		err = node_listen(node);
	if (!err)
		WRITE_ONCE(node->nr_listening, node->nr_listening + 1);
	mutex_unlock(&node->listen_lock);
	return err;
}

static void node_unlisten(struct dms_node *node)
{
	lockdep_assert_held(&node->listen_lock);
	acceptor_stop(node);
	if (!READ_ONCE(node->nr_resumable))
		dms_cm_unlisten(node);
}

static void node_unlisten_work(struct work_struct *work)
{
	struct dms_node *node = container_of(work, struct dms_node, unlisten_work);

	mutex_lock(&node->listen_lock);
	if (!node->nr_listening && !READ_ONCE(node->nr_resumable))
		dms_cm_unlisten(node);
	mutex_unlock(&node->listen_lock);
}

/**
 * dms_node_anywhere() - do nodes listen on all addresses of this host?
 *
 * Context: any.
 */
bool dms_node_anywhere(void)
{
	return !strcmp(dms_param_bind_addr, "::") || !strcmp(dms_param_bind_addr, "0.0.0.0");
}

/**
 * dms_node_resumable() - sessions whose queue pairs may be asked for again
 * @node: its lock is held
 * @up: one more; else one less
 *
 * As long as there is one, connection requests are taken, which show the cookie of a
 * session; new sessions only while somebody listens.
 *
 * Context: process.
 */
void dms_node_resumable(struct dms_node *node, bool up)
{
	lockdep_assert_held(&node->lock);
	WRITE_ONCE(node->nr_resumable, node->nr_resumable + (up ? 1 : -1));
	/* the exit of the namespace waits for it */
	if (!node->nr_resumable)
		queue_work(dms_wq, &node->unlisten_work);
}

/**
 * dms_node_listen_put() - a service is gone
 * @node: after dms_node_listen_get()
 *
 * Sessions that are there go on, and their queue pairs can be asked for again.
 *
 * Context: process, may sleep, no lock held.
 */
void dms_node_listen_put(struct dms_node *node)
{
	mutex_lock(&node->listen_lock);
	WRITE_ONCE(node->nr_listening, node->nr_listening - 1);
	if (!node->nr_listening)
		node_unlisten(node);
	mutex_unlock(&node->listen_lock);
}

/*
 * ---- Contexts and operators ----
 */

/**
 * dms_node_ctx_get() - a context is opened
 * @node: of its namespace
 */
void dms_node_ctx_get(struct dms_node *node)
{
	mutex_lock(&node->lock);
	WRITE_ONCE(node->nr_ctx, node->nr_ctx + 1);
	mutex_unlock(&node->lock);
}

/**
 * dms_node_ctx_put() - a context is closed
 * @node: of its namespace
 *
 * When it was the last one, idle sessions end now.
 *
 * Context: process, may sleep, no lock held.
 */
void dms_node_ctx_put(struct dms_node *node)
{
	u32 left;

	mutex_lock(&node->lock);
	left = node->nr_ctx - 1;
	WRITE_ONCE(node->nr_ctx, left);
	mutex_unlock(&node->lock);
	if (!left)
		dms_session_poke_all(node);
}

/**
 * dms_node_walk_sessions() - for operators
 * @node: of the caller's namespace
 * @fn: called with a reference held and no lock; non-zero stops
 * @arg: for @fn
 *
 * Sees every session that is there all the time; of those that come or go
 * meanwhile, some.  In the order of their numbers.
 *
 * Context: process, may sleep, no lock held.
 * Return: what the last call of @fn returned.
 */
int dms_node_walk_sessions(struct dms_node *node,
			   int (*fn)(struct dms_session *s, void *arg), void *arg)
{
	struct dms_session *s, *next;
	u32 after = 0;
	int ret = 0;

	do {
		next = NULL;
		mutex_lock(&node->lock);
		list_for_each_entry(s, &node->sessions, node_link)
			if (s->num > after && (!next || s->num < next->num))
				next = s;
		if (next)
			dms_session_get(next);
		mutex_unlock(&node->lock);
		if (!next)
			break;
		after = next->num;
		ret = fn(next, arg);
		dms_session_put(next);
	} while (!ret);
	return ret;
}

/*
 * ---- Namespaces ----
 */

static unsigned int dms_net_id __read_mostly;

/**
 * dms_node_of() - this module in a namespace
 * @net: alive
 *
 * Context: any.
 */
struct dms_node *dms_node_of(struct net *net)
{
	return net_generic(net, dms_net_id);
}

static int __net_init node_net_init(struct net *net)
{
	struct dms_node *node = dms_node_of(net);

	node->net = net;
	if (net_eq(net, &init_net))
		memcpy(node->nonce, dms_boot_nonce, sizeof(node->nonce));
	else
		get_random_bytes(node->nonce, sizeof(node->nonce));
	mutex_init(&node->listen_lock);
	mutex_init(&node->lock);
	INIT_LIST_HEAD(&node->sessions);
	INIT_LIST_HEAD(&node->services);
	INIT_WORK(&node->unlisten_work, node_unlisten_work);
	return 0;
}

/*
 * Nothing new from here on, and what there is ends.  Returns what is left of @limit, 0: something
 * has not ended.
 */
static unsigned long node_end(struct dms_node *node, unsigned long limit)
{
	mutex_lock(&node->listen_lock);
	mutex_lock(&node->lock);
	WRITE_ONCE(node->going, true);
	mutex_unlock(&node->lock);
	if (node->nr_listening)
		node_unlisten(node);
	mutex_unlock(&node->listen_lock);
	/* requests that came before the listener went: they look at the node */
	dms_cm_flush();
	return dms_session_end_all(node, limit);
}

/*
 * Contexts have a reference on their namespace until they are shut down, and on
 * the module as long as they are open: none is left here, and no listener.
 */
static void __net_exit node_net_exit(struct net *net)
{
	struct dms_node *node = dms_node_of(net);

	WARN_ON_ONCE(node->nr_listening);
	node_end(node, MAX_SCHEDULE_TIMEOUT);
	flush_work(&node->unlisten_work);
	dms_events_flush();
	mutex_destroy(&node->lock);
	mutex_destroy(&node->listen_lock);
}

static struct pernet_operations node_net_ops = {
	.init	= node_net_init,
	.exit	= node_net_exit,
	.id	= &dms_net_id,
	.size	= sizeof(struct dms_node),
};

/*
 * Reboot, power-off, kexec.  Some drivers reset their device on the way, others do not, and the
 * kernel that kexec starts knows nothing of memory that a peer's NIC, or ours, still writes into.
 * So all sessions end here, in order: their queue pairs are fenced, and peers hear of it at
 * once instead of after peer_lost_ms.  Processes may go on, with their files open; their streams
 * have ended, and there are no new ones.
 *
 * Context: process; net_rwsem, outside all locks of ours, keeps the namespaces.
 */
static int node_reboot(struct notifier_block *nb, unsigned long event, void *unused)
{
	unsigned long left = DMS_REBOOT_LIMIT;
	struct dms_node *node;
	u32 sessions = 0;
	struct net *net;

	down_read(&net_rwsem);
	for_each_net(net) {
		node = dms_node_of(net);
		sessions += READ_ONCE(node->nr_sessions);
		left = node_end(node, left);
	}
	up_read(&net_rwsem);
	if (!left)
		pr_err("sessions have not ended within %u s; a NIC may still use this host's memory\n",
		       DMS_REBOOT_LIMIT / HZ);
	else if (sessions)
		pr_notice("%u sessions have ended, the system goes down\n", sessions);
	return NOTIFY_DONE;
}

static struct notifier_block node_reboot_nb = { .notifier_call = node_reboot };

/**
 * dms_node_init() - a node in every namespace
 *
 * Return: 0 or -errno.
 */
int dms_node_init(void)
{
	int err;

	get_random_bytes(dms_boot_nonce, sizeof(dms_boot_nonce));
	err = register_pernet_device(&node_net_ops);
	if (err)
		return err;
	err = register_reboot_notifier(&node_reboot_nb);
	if (err)
		unregister_pernet_device(&node_net_ops);
	return err;
}

/**
 * dms_node_exit() - the module goes: ends every session, waits
 *
 * Context: process, may sleep; dms_wq works.
 */
void dms_node_exit(void)
{
	unregister_reboot_notifier(&node_reboot_nb);
	unregister_pernet_device(&node_net_ops);
	/* sessions are freed after a grace period */
	rcu_barrier();
}
