// SPDX-License-Identifier: LGPL-2.1-only OR MIT
/*
 * Services and streams: listen, accept, connect, close.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define CONNECT_ADDRS	16	/* of one name; more are not tried */

struct dmastream_listener {
	struct dmastream	*ctx;
	int			fd;
	uint32_t		handle;
};

/* @to was zeroed: the name ends with a NUL and is padded. */
static int service_copy(char to[DMASTREAM_SERVICE_MAX], const char *service)
{
	size_t len = strlen(service);

	if (!len)
		return -EINVAL;
	if (len >= DMASTREAM_SERVICE_MAX)
		return -ENAMETOOLONG;
	memcpy(to, service, len);
	return 0;
}

int dmastream_listen(struct dmastream *ctx, const char *service,
		     uint32_t backlog, uint64_t cookie,
		     struct dmastream_listener **out)
{
	struct dmastream_listen arg = {
		.backlog = backlog,
		.cookie = cookie,
	};
	struct dmastream_listener *listener;
	int ret;

	*out = NULL;
	ret = service_copy(arg.service, service);
	if (ret)
		return ret;
	listener = calloc(1, sizeof(*listener));
	if (!listener)
		return -ENOMEM;
	ret = dmastream__ioctl(ctx->fd, DMASTREAM_IOC_LISTEN, &arg);
	if (ret) {
		free(listener);
		return ret;
	}
	listener->ctx = ctx;
	listener->fd = arg.fd;
	listener->handle = arg.listener;
	*out = listener;
	return 0;
}

/* Refuses the connections that wait. */
int dmastream_listener_close(struct dmastream_listener *listener)
{
	if (!listener)
		return 0;
	close(listener->fd);
	free(listener);
	return 0;
}

int dmastream_listener_fd(const struct dmastream_listener *listener)
{
	return listener->fd;
}

uint32_t dmastream_listener_handle(const struct dmastream_listener *listener)
{
	return listener->handle;
}

int dmastream_accept(struct dmastream_listener *listener,
		     const struct dmastream_stream_opts *opts,
		     uint32_t timeout_ms, uint32_t *stream,
		     struct dmastream_addr *peer)
{
	struct dmastream_accept arg = {
		.listener = listener->handle,
		.timeout_ms = timeout_ms,
		.opts = *opts,
	};
	int ret;

	ret = dmastream__ioctl(listener->ctx->fd, DMASTREAM_IOC_ACCEPT, &arg);
	if (ret)
		return ret;
	*stream = arg.stream;
	if (peer)
		*peer = arg.peer;
	return 0;
}

int dmastream_accept_async(struct dmastream_listener *listener,
			   const struct dmastream_stream_opts *opts,
			   uint32_t timeout_ms, uint64_t user_data)
{
	struct dmastream_accept arg = {
		.listener = listener->handle,
		.flags = DMASTREAM_OPEN_ASYNC,
		.timeout_ms = timeout_ms,
		.opts = *opts,
		.user_data = user_data,
	};

	return dmastream__ioctl(listener->ctx->fd, DMASTREAM_IOC_ACCEPT, &arg);
}

static int stream_connect(struct dmastream *ctx,
			  const struct dmastream_addr *peer,
			  const char *service, struct dmastream_connect *arg,
			  uint32_t *stream, struct dmastream_error *err)
{
	int ret;

	arg->peer = *peer;
	ret = service_copy(arg->service, service);
	if (!ret)
		ret = dmastream__ioctl(ctx->fd, DMASTREAM_IOC_CONNECT, arg);
	if (err) {
		memset(err, 0, sizeof(*err));
		err->err_class = arg->err_class;
		err->err_detail = arg->err_detail;
		err->peer = *peer;
		memcpy(err->service, arg->service, sizeof(err->service));
	}
	if (!ret)
		*stream = arg->stream;
	return ret;
}

int dmastream_connect(struct dmastream *ctx, const struct dmastream_addr *peer,
		      const char *service,
		      const struct dmastream_stream_opts *opts,
		      uint32_t timeout_ms, uint32_t *stream,
		      struct dmastream_error *err)
{
	struct dmastream_connect arg = {
		.timeout_ms = timeout_ms,
		.opts = *opts,
	};

	return stream_connect(ctx, peer, service, &arg, stream, err);
}

int dmastream_connect_async(struct dmastream *ctx,
			    const struct dmastream_addr *peer,
			    const char *service,
			    const struct dmastream_stream_opts *opts,
			    uint32_t timeout_ms, uint64_t user_data,
			    uint32_t *stream)
{
	struct dmastream_connect arg = {
		.flags = DMASTREAM_OPEN_ASYNC,
		.timeout_ms = timeout_ms,
		.opts = *opts,
		.user_data = user_data,
	};

	return stream_connect(ctx, peer, service, &arg, stream, NULL);
}

/*
 * Tries the addresses of @host one after the other within @timeout_ms; the
 * error is that of the last one tried.
 */
int dmastream_connect_name(struct dmastream *ctx, const char *host, int family,
			   uint32_t port, const char *service,
			   const struct dmastream_stream_opts *opts,
			   uint32_t timeout_ms, uint32_t *stream,
			   struct dmastream_error *err)
{
	struct dmastream_addr addrs[CONNECT_ADDRS];
	uint64_t deadline = dmastream_deadline(timeout_ms);
	uint32_t left = timeout_ms;
	int ret = -ETIMEDOUT;
	int i, n;

	if (err)
		memset(err, 0, sizeof(*err));
	n = dmastream_resolve(host, family, port, addrs, CONNECT_ADDRS);
	if (n <= 0)
		return n ? n : -EADDRNOTAVAIL;
	for (i = 0; i < n; i++) {
		if (deadline && i) {
			uint64_t now = dmastream_now_ns();

			if (now + 1000000 > deadline)
				break;
			left = (uint32_t)((deadline - now) / 1000000);
		}
		ret = dmastream_connect(ctx, &addrs[i], service, opts, left,
					stream, err);
		/* these say nothing of the address: another one will not help */
		if (!ret || ret == -EINVAL || ret == -EINTR || ret == -ENAMETOOLONG)
			break;
	}
	return ret;
}

int dmastream_shutdown(struct dmastream *ctx, uint32_t stream)
{
	struct dmastream_shutdown arg = {
		.stream = stream,
	};

	return dmastream__ioctl(ctx->fd, DMASTREAM_IOC_SHUTDOWN, &arg);
}

static int stream_close(struct dmastream *ctx, uint32_t stream, uint32_t flags,
			uint32_t timeout_ms, uint64_t user_data)
{
	struct dmastream_close arg = {
		.type = DMASTREAM_OBJ_STREAM,
		.handle = stream,
		.flags = flags,
		.timeout_ms = timeout_ms,
		.user_data = user_data,
	};

	return dmastream__ioctl(ctx->fd, DMASTREAM_IOC_CLOSE, &arg);
}

int dmastream_stream_close(struct dmastream *ctx, uint32_t stream,
			   uint32_t flags, uint32_t timeout_ms)
{
	return stream_close(ctx, stream, flags & ~DMASTREAM_CLOSE_ASYNC,
			    timeout_ms, 0);
}

int dmastream_stream_close_async(struct dmastream *ctx, uint32_t stream,
				 uint32_t flags, uint32_t timeout_ms,
				 uint64_t user_data)
{
	return stream_close(ctx, stream, flags | DMASTREAM_CLOSE_ASYNC,
			    timeout_ms, user_data);
}

int dmastream_stream_query(struct dmastream *ctx, uint32_t stream,
			   struct dmastream_stream_query *query)
{
	memset(query, 0, sizeof(*query));
	query->stream = stream;
	return dmastream__ioctl(ctx->fd, DMASTREAM_IOC_STREAM_QUERY, query);
}

/* What dmastream_explain() wants to know of a stream that failed. */
int dmastream_stream_error(struct dmastream *ctx, uint32_t stream,
			   struct dmastream_error *err)
{
	struct dmastream_stream_query query;
	int ret;

	memset(err, 0, sizeof(*err));
	err->stream = stream;
	ret = dmastream_stream_query(ctx, stream, &query);
	if (ret)
		return ret;
	err->err_class = query.err_class;
	err->err_detail = query.err_detail;
	err->peer = query.peer;
	return 0;
}

int dmastream_cancel(struct dmastream *ctx, uint32_t stream, uint64_t user_data)
{
	struct dmastream_cancel arg = {
		.stream = stream,
		.user_data = user_data,
	};

	return dmastream__ioctl(ctx->fd, DMASTREAM_IOC_CANCEL, &arg);
}
