// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module of the name dmastream that does wrong what the bed has to notice:
 * fault=leak loses memory, fault=pin cannot be unloaded, fault=use-after-free
 * and fault=lock are for KASAN and lockdep.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>

static char *fault = "";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "leak, pin, use-after-free or lock");

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);

static const struct file_operations bedtest_fops = {
	.owner = THIS_MODULE,
};

static struct miscdevice bedtest_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "dmastream",
	.fops = &bedtest_fops,
};

/* Several objects: a stale copy of a pointer may hide one of them. */
static noinline void bedtest_leak(void)
{
	char *p;
	int i;

	for (i = 0; i < 16; i++) {
		p = kmalloc(512, GFP_KERNEL);
		if (p)
			memset(p, i, 512);
	}
}

static noinline void bedtest_use_after_free(void)
{
	char *p = kmalloc(64, GFP_KERNEL);

	kfree(p);
	if (p)
		WRITE_ONCE(*(p + 8), 1);
}

static noinline void bedtest_lock(void)
{
	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static int __init bedtest_init(void)
{
	if (!strcmp(fault, "leak"))
		bedtest_leak();
	else if (!strcmp(fault, "pin"))
		__module_get(THIS_MODULE);
	else if (!strcmp(fault, "use-after-free"))
		bedtest_use_after_free();
	else if (!strcmp(fault, "lock"))
		bedtest_lock();
	return misc_register(&bedtest_misc);
}

static void __exit bedtest_exit(void)
{
	misc_deregister(&bedtest_misc);
}

module_init(bedtest_init);
module_exit(bedtest_exit);
MODULE_DESCRIPTION("Faults for the test of dmastream's bed");
MODULE_LICENSE("GPL");
