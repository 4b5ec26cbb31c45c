// SPDX-License-Identifier: GPL-2.0
/*
 * One fault on loading, named by a parameter: proof that a run of the harness
 * fails when the kernel has something to say.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

static char *fault = "";
module_param(fault, charp, 0);
MODULE_PARM_DESC(fault, "which fault");

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);
static DEFINE_SPINLOCK(lock);

static noinline void planted_use_after_free(void)
{
	char *p = kmalloc(64, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(p);
	kfree(p);
	WRITE_ONCE(p[8], 1);
}

static noinline void planted_out_of_bounds(void)
{
	char *p = kmalloc(64, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(p);
	WRITE_ONCE(p[64], 1);
	kfree(p);
}

static noinline void planted_lock_inversion(void)
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

static noinline void planted_sleep_in_atomic(void)
{
	spin_lock(&lock);
	msleep(1);
	spin_unlock(&lock);
}

static noinline void planted_shift(void)
{
	int bits = 40;

	OPTIMIZER_HIDE_VAR(bits);
	pr_info("planted: %d\n", 1 << bits);
}

static noinline void planted_leak(void)
{
	int i;

	for (i = 0; i < 16; i++) {
		char *p = kmalloc(128, GFP_KERNEL);

		OPTIMIZER_HIDE_VAR(p);
	}
}

static noinline void planted_oops(void)
{
	int *p = NULL;

	OPTIMIZER_HIDE_VAR(p);
	WRITE_ONCE(*p, 1);
}

static const struct {
	const char *name;
	void (*plant)(void);
} faults[] = {
	{ "use_after_free", planted_use_after_free },
	{ "out_of_bounds", planted_out_of_bounds },
	{ "lock_inversion", planted_lock_inversion },
	{ "sleep_in_atomic", planted_sleep_in_atomic },
	{ "shift", planted_shift },
	{ "leak", planted_leak },
	{ "oops", planted_oops },
};

static int __init planted_init(void)
{
	int i;

	if (!strcmp(fault, "warn")) {
		WARN_ON(1);
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (!strcmp(fault, faults[i].name)) {
			faults[i].plant();
			return 0;
		}
	}
	return -EINVAL;
}

static void __exit planted_exit(void)
{
}

module_init(planted_init);
module_exit(planted_exit);
MODULE_DESCRIPTION("Planted faults");
MODULE_LICENSE("GPL");
