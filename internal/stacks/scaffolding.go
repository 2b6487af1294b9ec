package stacks

import "strings"

// Scaffolding finds the kernel's functions that lead from where the kernel is entered to what it does, and say nothing else: those around
// the entry of a system call (entry_SYSCALL_64_after_hwframe, do_syscall_64, and above it ksys_read or __sys_recvfrom), of an exception
// or interrupt (asm_exc_page_fault, above it exc_page_fault), and of a kernel thread (ret_from_fork). So a system call is one frame with its
// name, whichever of its functions the compiler has left.
//
// It visits the kernel's part of a stack, the outermost function first.
type Scaffolding struct {
	call   string // the system call whose functions are being visited
	inside bool   // the entries are past
}

// Next returns whether the next function is scaffolding, and the name of the system call that begins with it, "" if none does. above is the
// function that it calls; "" if there is none, or none with a name: then it is where the thread was.
func (s *Scaffolding) Next(function, above string) (call string, folded bool) {
	function, above = withoutSuffix(function), withoutSuffix(above)
	entered := EntryOf(function)
	if entered == "" && !s.inside {
		entered = bodyOf(function)
	}
	switch {
	case entered != "" && entered != s.call:
		s.call, s.inside = entered, true
		return entered + "()", false
	case above == "":
		return "", false
	case s.call != "" && (entered == s.call || isBody(function, s.call)), isPassage(function, above):
		return "", true
	}
	s.call = ""
	s.inside = s.inside || !isEntry(function)
	return "", !s.inside
}

// withoutSuffix removes what the compiler appends: .isra.0, .part.0.
func withoutSuffix(function string) string {
	function, _, _ = strings.Cut(function, ".")
	return function
}

// EntryOf returns the system call of a function that is the entry of one; "" for other functions. The prefixes are those of the kernel's
// arch/*/include/asm/syscall_wrapper.h.
func EntryOf(function string) string {
	for _, prefix := range [...]string{"__x64_sys_", "__arm64_sys_", "__ia32_sys_", "__ia32_compat_sys_", "__x64_compat_sys_", "__arm64_compat_sys_"} {
		if call, found := strings.CutPrefix(withoutSuffix(function), prefix); found {
			return call
		}
	}
	return ""
}

// bodyOf returns the system call of a function that is the body of one, where its entry is inlined or has jumped there.
func bodyOf(function string) string {
	switch function {
	case "kernel_wait4":
		return "wait4"
	case "kernel_clone":
		return "clone"
	case "ksys_mmap_pgoff":
		return "mmap"
	}
	for _, prefix := range bodies()[:4] {
		if call, found := strings.CutPrefix(function, prefix); found {
			return call
		}
	}
	return ""
}

// isBody reports whether a function is the body of a system call, with the same arguments.
func isBody(function, call string) bool {
	if bodyOf(function) == call {
		return true
	}
	for _, prefix := range bodies() {
		if rest, found := strings.CutPrefix(function, prefix); found && rest == call {
			return true
		}
	}
	return false
}

// bodies returns the prefixes of bodies. What begins with one of the first four is one by itself.
func bodies() []string {
	return []string{"__do_sys_", "__se_sys_", "__sys_", "ksys_", "do_sys_", "do_"}
}

// isEntry reports whether a function is one of those in which stacks of the kernel begin: see arch/x86/entry, arch/arm64/kernel/entry-common.c
// and syscall.c, arch/x86/kernel/process.c and kernel/kthread.c.
func isEntry(function string) bool {
	for _, prefix := range [...]string{"entry_SYSCALL_", "entry_SYSENTER_", "entry_INT80_", "ret_from_fork", "el0t_64_sync", "el0t_32_sync"} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	switch function {
	case "do_syscall_64", "x64_sys_call", "do_syscall_x64", "x32_sys_call", "ia32_sys_call", "do_syscall_32_irqs_on", "do_int80_syscall_32",
		"do_int80_emulation", "asm_int80_emulation", "int80_emulation", "do_fast_syscall_32", "__do_fast_syscall_32", "do_SYSENTER_32",
		"el0_svc", "do_el0_svc", "el0_svc_common", "el0_svc_compat", "do_el0_svc_compat", "invoke_syscall", "__invoke_syscall", "kthread":
		return true
	}
	return false
}

// isPassage reports whether a function is the part of an exception's or interrupt's entry before its handler, which is the function above, or
// the one between an exception and what resolves it.
func isPassage(function, above string) bool {
	switch function {
	case "asm_" + above, "do_user_addr_fault":
		return true
	}
	return strings.HasPrefix(function, "sysvec_") && above == "__"+function
}

// IsReturn reports whether a function is one of those in which a thread loses its CPU on the way from an interrupt or a system call back to
// its program: in a stack that has no others of the kernel, the program was preempted there.
func IsReturn(function string) bool {
	function = withoutSuffix(function)
	switch function {
	case "irqentry_exit_to_user_mode", "irqentry_exit", "exit_to_user_mode_loop", "exit_to_user_mode_prepare", "syscall_exit_to_user_mode", "syscall_exit_to_user_mode_work",
		"syscall_return_slowpath", "swapgs_restore_regs_and_return_to_usermode", "do_notify_resume", "exit_to_user_mode", "arm64_exit_to_user_mode", "el0_interrupt", "el0t_64_irq", "el0t_64_irq_handler":
		return true
	}
	return isEntry(function) || strings.HasPrefix(function, "asm_")
}
