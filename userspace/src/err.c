// SPDX-License-Identifier: BSD-3-Clause
/* Errors: codes, their names, and advice in words. */
#include <string.h>

#include "err.h"

const char *rpma_err_2str(int ret)
{
	switch (ret) {
	case 0:
		return "Success";
	case RPMA_E_NOSUPP:
		return "Not supported";
	case RPMA_E_PROVIDER:
		return "Provider error occurred";
	case RPMA_E_NOMEM:
		return "Out of memory";
	case RPMA_E_INVAL:
		return "Invalid argument";
	case RPMA_E_NO_COMPLETION:
		return "No next completion available";
	case RPMA_E_NO_EVENT:
		return "No next event available";
	case RPMA_E_AGAIN:
		return "Temporary error, try again";
	case RPMA_E_SHARED_CHANNEL:
		return "Completion channel is shared";
	case RPMA_E_NOT_SHARED_CHNL:
		return "Completion channel is not shared";
	default:
		return "Unknown error";
	}
}

const char *err_advice(int err)
{
	switch (err) {
	case EDQUOT:
		return ": a limit of the rpma module is reached, see /sys/module/rpma/parameters";
	case ENODEV:
		return ": no RDMA device there, or it is gone; \"rdma link show\" lists them";
	case EXDEV:
		return ": this address is reached through another RDMA device than the peer's";
	case E2BIG:
	case ENOTTY:
		return ": the loaded rpma module is older than this library";
	case EADDRNOTAVAIL:
		return ": not an address of this machine in this network namespace";
	case ENOSPC:
		return ": a completion queue is smaller than the queue that reports to it";
	default:
		return "";
	}
}

int err_control(int err)
{
	errno = err;
	return err == ENOMEM ? RPMA_E_NOMEM : RPMA_E_PROVIDER;
}

static const char *post_advice(int err)
{
	switch (err) {
	case EACCES:
		return ": a region was not registered for this";
	case EINVAL:
		return ": the range leaves its region";
	case EXDEV:
		return ": the local region belongs to another peer";
	case ENOENT:
	case EBADF:
		return ": the local region is not registered any more";
	case ENOTCONN:
		return ": wait for RPMA_CONN_ESTABLISHED first";
	case EOPNOTSUPP:
		return ": the other side agreed to no reads when the connection was made";
	case EMSGSIZE:
		return ": more than the device transfers at once";
	default:
		return err_advice(err);
	}
}

int err_post(int err, const char *what)
{
	/* Full queues are no accident but how some programs pace themselves. */
	if (err == EAGAIN)
		log_info("%s: the queues are full until completions are fetched", what);
	else
		log_error("%s: %s%s", what, strerror(err), post_advice(err));

	errno = err;
	return err == EINVAL ? RPMA_E_INVAL : RPMA_E_PROVIDER;
}
