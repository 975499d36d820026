// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/dmastream: each open is a context.
 */
#include "chardev.h"

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "ctx.h"
#include "ioctl.h"

static int dms_chardev_open(struct inode *inode, struct file *file)
{
	struct dms_ctx *ctx = dms_ctx_create();

	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	file->private_data = ctx;
	return 0;
}

static int dms_chardev_release(struct inode *inode, struct file *file)
{
	dms_ctx_shutdown(file->private_data);
	return 0;
}

static void dms_chardev_fdinfo(struct seq_file *m, struct file *file)
{
	static const char * const name[DMS_KINDS] = {
		[DMS_POOLS]	= "pools",
		[DMS_GROUPS]	= "groups",
		[DMS_RINGS]	= "rings",
		[DMS_LISTENERS]	= "listeners",
		[DMS_STREAMS]	= "streams",
	};
	struct dms_ctx *ctx = file->private_data;
	int i;

	seq_puts(m, "dms-object:\tcontext\n");
	for (i = 0; i < DMS_KINDS; i++)
		seq_printf(m, "dms-%s:\t%u\n", name[i], dms_ctx_count(ctx, i));
}

static const struct file_operations dms_chardev_fops = {
	.owner		= THIS_MODULE,
	.open		= dms_chardev_open,
	.release	= dms_chardev_release,
	.unlocked_ioctl	= dms_ctx_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.show_fdinfo	= dms_chardev_fdinfo,
};

static struct miscdevice dms_chardev = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "dmastream",
	.fops	= &dms_chardev_fops,
	.mode	= 0600,	/* closed until the administrator says otherwise */
};

/**
 * dms_chardev_init() - makes the device node
 *
 * Context: Process context, module init, when everything else is there.
 * Return: 0 or a negative errno.
 */
int dms_chardev_init(void)
{
	return misc_register(&dms_chardev);
}

/**
 * dms_chardev_exit() - removes the device node
 *
 * Context: Process context, module exit: nobody has it open.
 */
void dms_chardev_exit(void)
{
	misc_deregister(&dms_chardev);
}
