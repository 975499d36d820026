/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only place with kernel version checks.  Everything else is written for
 * the newest kernel; what an older one lacks is made up for here.
 */
#ifndef DMS_COMPAT_H
#define DMS_COMPAT_H

#include <linux/bvec.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/socket.h>
#include <linux/uio.h>
#include <linux/version.h>
#include <net/sock.h>

/* 6.3: vm_flags are written with functions, which check that the area is locked. */
#if LINUX_VERSION_MAJOR < 6 || (LINUX_VERSION_MAJOR == 6 && LINUX_VERSION_PATCHLEVEL < 3)
#define dms_vm_flags_set(vma, flags)	((vma)->vm_flags |= (flags))
#define dms_vm_flags_clear(vma, flags)	((vma)->vm_flags &= ~(flags))
#else
#define dms_vm_flags_set(vma, flags)	vm_flags_set(vma, flags)
#define dms_vm_flags_clear(vma, flags)	vm_flags_clear(vma, flags)
#endif

/* 6.2: a socket that allocates without GFP_KERNEL has to say that a task's page is not for it. */
static inline void dms_sock_noio(struct sock *sk)
{
	sk->sk_allocation = GFP_NOIO;
#if LINUX_VERSION_MAJOR > 6 || (LINUX_VERSION_MAJOR == 6 && LINUX_VERSION_PATCHLEVEL >= 2)
	sk->sk_use_task_frag = false;
#endif
}

/* 6.5: MSG_SPLICE_PAGES has taken the place of sendpage; what a page holds is lent, not copied. */
static inline int dms_send_page(struct socket *sock, struct page *page, unsigned int off,
				unsigned int len, bool more)
{
	int flags = MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0);
#if LINUX_VERSION_MAJOR < 6 || (LINUX_VERSION_MAJOR == 6 && LINUX_VERSION_PATCHLEVEL < 5)
	return kernel_sendpage(sock, page, off, len, flags);
#else
	struct msghdr msg = { .msg_flags = flags | MSG_SPLICE_PAGES };
	struct bio_vec vec;

	bvec_set_page(&vec, page, len, off);
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, &vec, 1, len);
	return sock_sendmsg(sock, &msg);
#endif
}

#endif /* DMS_COMPAT_H */
