//go:build ignore
/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * All kernel programs in one object: loading ten of them together takes a tenth of the time of loading them one by one.
 */
#define __VMLINUX_H__ /* kernel.h replaces it */

#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "threads.h"
#include "read.h"
#include "records.h"
#include "window.h"
#include "ring.h"
#include "missing.h"
#include "pack.h"
#include "filter.h"
#include "walk.h"
#include "pythonstack.h"
#include "stacks.h"
#include "inode.h"
#include "otherthread.h"
#include "unwind.h"
#include "userstack.h"
#include "gil.h"
#include "wait.h"
#include "memo.h"
#include "usermemo.h"
#include "cgroup.h"
#include "cgroupfilter.h"
#include "life.h"
#include "newprogram.h"
#include "throttle.h"
#include "tasks.h"
#include "offcpu.h"
#include "blocked.h"
#include "interrupt.h"
#include "counters.h"
#include "workcounts.h"
#include "sched.h"
#include "sample.h"
#include "typed.h"
#include "irq.h"
#include "workqueue.h"
#include "tracepoint.h"
#include "pmu.h"
#include "syscall.h"
#include "lock.h"
#include "block.h"
#include "move.h"
#include "signal.h"
#include "power.h"
#include "reclaim.h"
#include "fault.h"
#include "iouring.h"
#include "rss.h"
#include "gpu.h"
#include "packet.h"
#include "net.h"
#include "probe.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Keeps all records and their enums in the object's BTF. Nothing else uses this type. */
union record {
	struct rec_switch sched_switch;
	struct rec_waking waking;
	struct rec_fork fork;
	struct rec_exec exec;
	struct rec_rename rename;
	struct rec_exit exit;
	struct rec_free free;
	struct rec_lost lost;
	struct rec_missing missing;
	enum rec_missing_cause missing_cause;
	enum rec_missing_type missing_type;
	struct rec_task task;
	struct rec_stack stack;
	struct rec_args args;
	struct rec_sample sample;
	struct rec_typed typed;
	struct rec_tracepoint tracepoint;
	struct rec_instant instant;
	struct rec_pmu_sample pmu_sample;
	struct rec_syscall call;
	enum rec_call_flag call_flag;
	enum rec_call_shape call_shape;
	enum rec_call_bound call_bound;
	struct rec_text text;
	struct rec_cgroup cgroup;
	struct rec_move move;
	enum rec_type type;
	enum rec_ipi ipi;
	enum rec_lock lock;
	enum rec_fault fault;
	struct rec_endpoint endpoint;
	struct rec_packet packet;
	struct rec_stacks stacks;
	struct rec_return ret;
	struct rec_parts parts;
	struct rec_wait_part wait_part;
	struct rec_counts_part counts_part;
	struct rec_wait wait;
	struct rec_packed_switch packed_switch;
	struct rec_packed_waking packed_waking;
	struct rec_packed_return packed_return;
	struct rec_blocked blocked;
	enum rec_kind kind;
	enum rec_flag flag;
	enum rec_header header;
	enum rec_part part;
	enum rec_wait_flag wait_flag;
	enum rec_wait_use wait_use;
	struct rec_code code;
	enum rec_python_end python_end;
	enum rec_python_address python_address;
	enum rec_python_word python_word;
	enum rec_code_text code_text;
};

const union record *records __attribute__((unused));
