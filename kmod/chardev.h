/* SPDX-License-Identifier: GPL-2.0-only */
/* /dev/dmastream. */
#ifndef DMS_CHARDEV_H
#define DMS_CHARDEV_H

int dms_chardev_init(void);
void dms_chardev_exit(void);

#endif /* DMS_CHARDEV_H */
