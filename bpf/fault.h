/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Page faults of addresses of user space, with the file that is mapped there, and those that had to wait for a disk.
 *
 * x86 has tracepoints at the begin of a fault. Elsewhere the kernel's software event counts faults when they have been handled, which
 * costs several microseconds each, as it does for major faults everywhere.
 */
#ifndef WPROF_FAULT_H
#define WPROF_FAULT_H

#define FAULT_WRITE 2 /* arch/x86/include/asm/trap_pf.h */
#define FAULT_FETCH 16

enum rec_fault {
	FAULT_ACCESS_READ,
	FAULT_ACCESS_WRITE,
	FAULT_ACCESS_FETCH,
	FAULT_ACCESS_UNKNOWN,
};

const volatile bool fault_stacks; /* of all faults, not only of major ones */

/* The name of the file that is mapped at an address, as a text; 0: none. */
#if defined(__TARGET_ARCH_x86)
static __noinline __u64 mapped_name(__u64 address)
{
	__u64 area = find_mapping(address), file, dentry;

	if (!area || address < read_field(struct vm_area_struct, area, vm_start) || address >= read_field(struct vm_area_struct, area, vm_end))
		return 0;
	file = read_field(struct vm_area_struct, area, vm_file);
	if (!file)
		return 0;
	dentry = read_field(struct file, file, f_path.dentry);
	return intern_text_of(read_field(struct dentry, dentry, d_name.name), dentry);
}
#else
static __always_inline __u64 mapped_name(__u64 address)
{
	return 0; /* mappings.h is for x86 */
}
#endif

#define FAULT_VALUES 5
#define MAJOR_VALUES 4

static __always_inline int write_fault(void *ctx, __u64 address, __u32 access)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct rec_stacks stacks = {};
	__u64 *values, name;

	if (!armed || !passes_filter_noinline(task) || !within_limit(TYPE_FAULT))
		return 0;
	name = mapped_name(address);
	if (fault_stacks)
		take_source_stacks(ctx, task, &stacks);
	values = reserve_typed(TYPE_FAULT, 0, FAULT_VALUES);
	if (!values)
		return 0;
	values[0] = access;
	values[1] = address;
	values[2] = name;
	values[3] = stacks.user;
	values[4] = stacks.kernel;
	submit_typed(values, FAULT_VALUES);
	return 0;
}

static __always_inline int traced_fault(void *ctx, __u64 address, __u64 error)
{
	__u32 access = error & FAULT_FETCH ? FAULT_ACCESS_FETCH : error & FAULT_WRITE ? FAULT_ACCESS_WRITE : FAULT_ACCESS_READ;

	return write_fault(ctx, address, access);
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(page_fault_user, unsigned long address, struct pt_regs *regs, unsigned long error)
{
	return traced_fault(ctx, address, error);
}

/*
 * In the kernel: of the memory of the running process. Faults of the kernel's own memory are none of the process, and neither are those that
 * are not handled, as of kernel programs that read a stack. The kernel skips this program for the latter while it reads one itself.
 */
SEC("tp_btf/page_fault_kernel")
int BPF_PROG(page_fault_kernel, unsigned long address, struct pt_regs *regs, unsigned long error)
{
	if (address >> 63 || bpf_get_current_task_btf()->pagefault_disabled)
		return 0;
	return traced_fault(ctx, address, error);
}

SEC("perf_event")
int fault_counted(struct bpf_perf_event_data *ctx)
{
	return write_fault(ctx, ctx->addr, FAULT_ACCESS_UNKNOWN);
}

SEC("perf_event")
int fault_major(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct rec_stacks stacks = {};
	__u64 *values, address, name;

	if (!armed || !passes_filter_noinline(task) || !within_limit(TYPE_MAJOR_FAULT))
		return 0;
	address = ctx->addr;
	name = mapped_name(address);
	take_source_stacks(ctx, task, &stacks);
	values = reserve_typed(TYPE_MAJOR_FAULT, 0, MAJOR_VALUES);
	if (!values)
		return 0;
	values[0] = address;
	values[1] = name;
	values[2] = stacks.user;
	values[3] = stacks.kernel;
	submit_typed(values, MAJOR_VALUES);
	return 0;
}

#endif
