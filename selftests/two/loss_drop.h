/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Drops chosen RoCE packets as they come in: a BPF program at the interface's
 * ingress, behind the packet sockets and before rxe, so that who listens sees
 * them all the same. (What is dropped on its way out rxe takes for a failure of
 * the device, and ends the connection.) It is gone with the process.
 */
#ifndef _TWO_LOSS_DROP_H
#define _TWO_LOSS_DROP_H

#include <linux/bpf.h>
#include <net/if.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct drop {
	int map;
	int link;
};

/* Value of the map, whose key is opcode << 24 | queue pair. */
struct drop_rule {
	uint32_t skip;
	uint32_t drop;
	uint32_t dropped;
};

static inline int drop_bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

#define DROP_INSN(c, d, s, o, i) \
	((struct bpf_insn){ .code = c, .dst_reg = d, .src_reg = s, .off = o, .imm = i })
#define DROP_LOAD(size, at) DROP_INSN(BPF_LD | BPF_ABS | (size), 0, 0, 0, at)
#define DROP_MOVE(d, s) DROP_INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define DROP_SET(d, i) DROP_INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define DROP_MATH(op, d, i) DROP_INSN(BPF_ALU64 | (op) | BPF_K, d, 0, 0, i)
#define DROP_OR(d, s) DROP_INSN(BPF_ALU64 | BPF_OR | BPF_X, d, s, 0, 0)
#define DROP_IF(op, d, i, o) DROP_INSN(BPF_JMP | (op) | BPF_K, d, 0, o, i)
#define DROP_GET(d, s, o) DROP_INSN(BPF_LDX | BPF_MEM | BPF_W, d, s, o, 0)
#define DROP_PUT(d, o, s) DROP_INSN(BPF_STX | BPF_MEM | BPF_W, d, s, o, 0)
#define DROP_GOTO(o) DROP_INSN(BPF_JMP | BPF_JA, 0, 0, o, 0)
#define DROP_CALL(f) DROP_INSN(BPF_JMP | BPF_CALL, 0, 0, 0, f)
#define DROP_EXIT() DROP_INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

/* Where the program says that a packet may pass. */
#define DROP_PASS 34

/* Ethernet, IPv4 without options, UDP to 4791: the BTH is at 42. */
static inline int drop_program(int map)
{
	const struct bpf_insn code[] = {
		/* 0 */ DROP_MOVE(6, 1),
		/* 1 */ DROP_LOAD(BPF_H, 12), DROP_IF(BPF_JNE, 0, 0x0800, DROP_PASS - 3),
		/* 3 */ DROP_LOAD(BPF_B, 23), DROP_IF(BPF_JNE, 0, 17, DROP_PASS - 5),
		/* 5 */ DROP_LOAD(BPF_H, 36), DROP_IF(BPF_JNE, 0, 4791, DROP_PASS - 7),
		/* 7 */ DROP_LOAD(BPF_B, 42), DROP_MOVE(7, 0), DROP_MATH(BPF_LSH, 7, 24),
		/* 10 */ DROP_LOAD(BPF_W, 46), DROP_MATH(BPF_AND, 0, 0xffffff), DROP_OR(0, 7),
		/* 13 */ DROP_PUT(10, -4, 0), DROP_MOVE(2, 10), DROP_MATH(BPF_ADD, 2, -4),
		/* 16 */ DROP_INSN(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map),
		/* 17 */ DROP_INSN(0, 0, 0, 0, 0),
		/* 18 */ DROP_CALL(BPF_FUNC_map_lookup_elem),
		/* 19 */ DROP_IF(BPF_JEQ, 0, 0, DROP_PASS - 20),
		/* 20 */ DROP_GET(1, 0, 0), DROP_IF(BPF_JEQ, 1, 0, 25 - 22),
		/* 22 */ DROP_MATH(BPF_ADD, 1, -1), DROP_PUT(0, 0, 1), DROP_GOTO(DROP_PASS - 25),
		/* 25 */ DROP_GET(1, 0, 4), DROP_IF(BPF_JEQ, 1, 0, DROP_PASS - 27),
		/* 27 */ DROP_MATH(BPF_ADD, 1, -1), DROP_PUT(0, 4, 1),
		/* 29 */ DROP_GET(1, 0, 8), DROP_MATH(BPF_ADD, 1, 1), DROP_PUT(0, 8, 1),
		/* 32 */ DROP_SET(0, TCX_DROP), DROP_EXIT(),
		/* 34 */ DROP_SET(0, TCX_PASS), DROP_EXIT(),
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SCHED_CLS,
		.insns = (uintptr_t)code,
		.insn_cnt = sizeof(code) / sizeof(code[0]),
		.license = (uintptr_t)"GPL",
	};

	return drop_bpf(BPF_PROG_LOAD, &attr);
}

/* Return: 0; what it drops is said by drop_rule(). */
static inline int drop_start(struct drop *d, const char *link)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_HASH,
		.key_size = 4,
		.value_size = sizeof(struct drop_rule),
		.max_entries = 64,
	};
	int program;

	d->map = drop_bpf(BPF_MAP_CREATE, &attr);
	if (d->map < 0)
		return -1;
	program = drop_program(d->map);
	if (program < 0)
		return -1;
	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = program;
	attr.link_create.target_ifindex = if_nametoindex(link);
	attr.link_create.attach_type = BPF_TCX_INGRESS;
	d->link = drop_bpf(BPF_LINK_CREATE, &attr);
	close(program);
	return d->link < 0 ? -1 : 0;
}

static inline void drop_stop(struct drop *d)
{
	close(d->link);
	close(d->map);
}

static inline int drop_key(int cmd, struct drop *d, uint32_t qp, uint32_t opcode,
			   struct drop_rule *rule)
{
	uint32_t key = opcode << 24 | qp;
	union bpf_attr attr = {
		.map_fd = d->map,
		.key = (uintptr_t)&key,
		.value = (uintptr_t)rule,
	};

	return drop_bpf(cmd, &attr);
}

/* The next @skip packets with @opcode to @qp pass, then @drop are dropped. */
static inline int drop_rule(struct drop *d, uint32_t qp, uint32_t opcode, uint32_t skip,
			    uint32_t drop)
{
	struct drop_rule rule = { .skip = skip, .drop = drop };

	return drop_key(BPF_MAP_UPDATE_ELEM, d, qp, opcode, &rule);
}

static inline uint32_t drop_dropped(struct drop *d, uint32_t qp, uint32_t opcode)
{
	struct drop_rule rule = {};

	drop_key(BPF_MAP_LOOKUP_ELEM, d, qp, opcode, &rule);
	return rule.dropped;
}

#endif /* _TWO_LOSS_DROP_H */
