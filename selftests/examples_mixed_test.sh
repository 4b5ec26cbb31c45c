#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The pairs of userspace/examples with Debian's librpma 1.3.0 under one of the
# two programs and ours under the other; the same binaries. Debian's needs
# verbs, and so root or an open /dev/infiniband.
exec bash "$(dirname "$0")/examples_test.sh" /rpma/bin theirs:ours ours:theirs
