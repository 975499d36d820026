// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmscat: files and pipes, past the page cache where that works.
 *
 * The descriptor that was given may be shared with other processes, so its
 * flags stay as they are: O_DIRECT gets a second description of the same file,
 * and every transfer names its offset.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dmscat.h"

static void direct_open(struct cat *cat, bool out)
{
	struct cat_file *f = &cat->file;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
	f->direct_fd = open(path, (out ? O_WRONLY : O_RDONLY) | O_DIRECT | O_CLOEXEC);
	if (f->direct_fd < 0)
		cat_note(cat, "no O_DIRECT on %s (%s): through the page cache",
			 out ? "the output" : "the input", strerror(errno));
}

static void direct_stop(struct cat *cat, int error)
{
	cat_note(cat, "O_DIRECT gave up at byte %llu (%s): through the page cache",
		 (unsigned long long)cat->file.off, strerror(error));
	close(cat->file.direct_fd);
	cat->file.direct_fd = -1;
}

void cat_file_open(struct cat *cat, int fd, bool out)
{
	struct cat_file *f = &cat->file;
	struct stat st;
	off_t off;
	int flags;

	memset(f, 0, sizeof(*f));
	f->fd = fd;
	f->direct_fd = -1;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return;
	flags = fcntl(fd, F_GETFL);
	off = lseek(fd, 0, SEEK_CUR);
	if (off < 0 || flags < 0 || (out && (flags & O_APPEND)))
		return;
	f->seekable = true;
	f->off = (uint64_t)off;
	direct_open(cat, out);
}

/* The next reader or writer of the shared offset goes on where this one ended. */
void cat_file_close(struct cat *cat)
{
	struct cat_file *f = &cat->file;

	if (f->seekable && lseek(f->fd, (off_t)f->off, SEEK_SET) < 0)
		cat_note(cat, "cannot move the file's offset: %s", strerror(errno));
	if (f->direct_fd >= 0)
		close(f->direct_fd);
	f->direct_fd = -1;
}

/* Bytes read, 0 at the end, or -errno. */
int64_t cat_file_read(struct cat *cat, void *buf, size_t len)
{
	struct cat_file *f = &cat->file;
	ssize_t n;

	if (f->direct_fd >= 0 && f->off % CAT_ALIGN == 0 && len % CAT_ALIGN == 0) {
		n = pread(f->direct_fd, buf, len, (off_t)f->off);
		if (n >= 0) {
			f->off += (uint64_t)n;
			f->direct_bytes += (uint64_t)n;
			return n;
		}
		if (errno == EINTR)
			return -EINTR;
		direct_stop(cat, errno);
	}
	n = f->seekable ? pread(f->fd, buf, len, (off_t)f->off) : read(f->fd, buf, len);
	if (n < 0)
		return -errno;
	f->off += (uint64_t)n;
	return n;
}

/* The part that is whole blocks; 0 is nothing, also when it does not work. */
static size_t direct_write(struct cat *cat, const char *buf, size_t len)
{
	struct cat_file *f = &cat->file;
	size_t whole = len - len % CAT_ALIGN;
	ssize_t n;

	if (f->direct_fd < 0 || !whole || f->off % CAT_ALIGN ||
	    (uintptr_t)buf % CAT_ALIGN)
		return 0;
	n = pwrite(f->direct_fd, buf, whole, (off_t)f->off);
	if (n < 0) {
		if (errno != EINTR && errno != ENOSPC && errno != EDQUOT)
			direct_stop(cat, errno);
		return 0;
	}
	f->direct_bytes += (uint64_t)n;
	return (size_t)n;
}

/* All of it, or -errno. */
int cat_file_write(struct cat *cat, const void *buf, size_t len)
{
	struct cat_file *f = &cat->file;
	const char *p = buf;
	ssize_t n;

	while (len) {
		n = (ssize_t)direct_write(cat, p, len);
		if (!n)
			n = f->seekable ? pwrite(f->fd, p, len, (off_t)f->off) :
					  write(f->fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
		f->off += (uint64_t)n;
	}
	return 0;
}
