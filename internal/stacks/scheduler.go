package stacks

import "strings"

// IsScheduler reports whether a function of the kernel is part of the scheduler, called by any thread that leaves its CPU. do_nanosleep
// counts as one because it is in .sched.text, whose functions the kernel leaves out of the stack of a thread that is still off the CPU
// when the window closes: otherwise the same sleep would have two names.
func IsScheduler(name string) bool {
	name, _, _ = strings.Cut(name, ".") // the compiler's .isra.0
	for _, prefix := range [...]string{"preempt_schedule", "schedule_timeout", "schedule_hrtimeout", "io_schedule", "finish_task_switch"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch name {
	case "schedule", "__schedule", "schedule_preempt_disabled", "schedule_idle", "schedule_user", "schedule_rtlock",
		"__schedule_loop", "rt_mutex_schedule", "context_switch", "__switch_to", "__switch_to_asm", "__cond_resched", "do_nanosleep",
		"_cond_resched", "sched_exit", "__traceiter_sched_switch", "__traceiter_sched_exit_tp":
		return true
	}
	return false
}
