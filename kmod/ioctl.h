/* SPDX-License-Identifier: GPL-2.0 */
/* Size-first commands: one way to read, check and answer them. */
#ifndef RPMA_IOCTL_H
#define RPMA_IOCTL_H

#include <linux/types.h>

/**
 * struct rpma_ucmd - one command on its way through a handler
 * @owner: what the descriptor stands for: a ctx, cq or conn
 * @ubuffer: the caller's structure
 * @user_size: its size as the caller knows it
 * @cmd: checked kernel copy, zero where the caller's was shorter
 */
struct rpma_ucmd {
	void *owner;
	void __user *ubuffer;
	u32 user_size;
	void *cmd;
};

/**
 * struct rpma_ioctl_op - one row of a dispatch table
 * @number: the full ioctl number
 * @size: size of the structure as this kernel knows it; 0: no argument
 * @min_size: size of its first published form
 * @execute: the handler; >= 0 or a negative errno
 */
struct rpma_ioctl_op {
	unsigned int number;
	unsigned int size;
	unsigned int min_size;
	int (*execute)(struct rpma_ucmd *ucmd);
};

/* A row: struct @type grew from its first form, which ended with @_last. */
#define RPMA_IOCTL_OP(_number, _fn, type, _last)			\
	{								\
		.number = (_number),					\
		.size = sizeof(struct type) +				\
			BUILD_BUG_ON_ZERO(sizeof(struct type) >		\
					  RPMA_UCMD_SIZE_MAX),		\
		.min_size = offsetofend(struct type, _last),		\
		.execute = (_fn),					\
	}

/* No structure is larger; dispatch keeps one of this size on its stack. */
#define RPMA_UCMD_SIZE_MAX 384

/**
 * rpma_ioctl_dispatch - find the row, copy the command in, call the handler
 * @ops: the table
 * @nr_ops: its rows
 * @owner: passed on as ucmd->owner
 * @number: the ioctl number
 * @arg: address of the caller's structure
 *
 * Return: what the handler returns, or -ENOTTY, -EFAULT, -EINVAL, -E2BIG.
 */
long rpma_ioctl_dispatch(const struct rpma_ioctl_op *ops, size_t nr_ops,
			 void *owner, unsigned int number, unsigned long arg);

/**
 * rpma_ucmd_respond - copy the answer back
 * @ucmd: the command, its out_* fields filled in
 *
 * Copies no more than the caller's structure holds.
 *
 * Return: 0 or -EFAULT.
 */
int rpma_ucmd_respond(struct rpma_ucmd *ucmd);

#endif /* RPMA_IOCTL_H */
