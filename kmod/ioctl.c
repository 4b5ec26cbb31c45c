// SPDX-License-Identifier: GPL-2.0
/* Size-first commands: the only place that copies a command's structure. */

#include <linux/build_bug.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "ioctl.h"

static const struct rpma_ioctl_op *
rpma_ioctl_find(const struct rpma_ioctl_op *ops, size_t nr_ops,
		unsigned int number)
{
	size_t i;

	for (i = 0; i < nr_ops; i++)
		if (ops[i].number == number)
			return &ops[i];
	return NULL;
}

long rpma_ioctl_dispatch(const struct rpma_ioctl_op *ops, size_t nr_ops,
			 void *owner, unsigned int number, unsigned long arg)
{
	const struct rpma_ioctl_op *op = rpma_ioctl_find(ops, nr_ops, number);
	u8 cmd[RPMA_UCMD_SIZE_MAX] __aligned(8);
	struct rpma_ucmd ucmd = {
		.owner = owner,
		.ubuffer = (void __user *)arg,
		.cmd = cmd,
	};
	int ret;

	if (!op)
		return -ENOTTY;
	if (!op->size)
		return arg ? -EINVAL : op->execute(&ucmd);

	ret = get_user(ucmd.user_size, (u32 __user *)ucmd.ubuffer);
	if (ret)
		return ret;
	if (ucmd.user_size < op->min_size)
		return -EINVAL;
	if (ucmd.user_size > PAGE_SIZE)
		return -E2BIG;
	ret = copy_struct_from_user(cmd, op->size, ucmd.ubuffer,
				    ucmd.user_size);
	if (ret)
		return ret;

	/* A handler may answer with less than it knows; never with our stack. */
	ucmd.user_size = min(ucmd.user_size, op->size);
	return op->execute(&ucmd);
}

int rpma_ucmd_respond(struct rpma_ucmd *ucmd)
{
	if (copy_to_user(ucmd->ubuffer, ucmd->cmd, ucmd->user_size))
		return -EFAULT;
	return 0;
}
