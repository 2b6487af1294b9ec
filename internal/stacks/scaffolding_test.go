package stacks

import (
	"strings"
	"testing"
)

// The first stacks are as Linux 6.18 and 5.15 on x86-64 and 6.8 on arm64 have them.
func TestScaffoldingIsFolded(t *testing.T) {
	for stack, want := range map[string]string{
		"entry_SYSCALL_64_after_hwframe do_syscall_64 __x64_sys_recvfrom __sys_recvfrom sock_recvmsg tcp_recvmsg":             "recvfrom() sock_recvmsg tcp_recvmsg",
		"entry_SYSCALL_64_after_hwframe do_syscall_64 ksys_read vfs_read anon_pipe_read":                                      "read() vfs_read anon_pipe_read",
		"entry_SYSCALL_64_after_hwframe do_syscall_64 x64_sys_call __x64_sys_read ksys_read vfs_read":                         "read() vfs_read",
		"entry_SYSCALL_64_after_hwframe do_syscall_64 kernel_wait4 do_wait":                                                   "wait4() do_wait",
		"entry_SYSCALL_64_after_hwframe do_syscall_64 __do_sys_newfstatat vfs_fstatat":                                        "newfstatat() vfs_fstatat",
		"entry_SYSCALL_64_after_hwframe do_syscall_64 __x64_sys_futex do_futex futex_wait __futex_wait":                       "futex() futex_wait __futex_wait",
		"entry_SYSCALL_64_after_hwframe do_syscall_64 __x64_sys_fsync do_fsync ext4_sync_file":                                "fsync() ext4_sync_file",
		"entry_SYSCALL_64_after_hwframe do_syscall_64 __x64_sys_clone __se_sys_clone.isra.0 __do_sys_clone kernel_clone copy": "clone() copy",
		"el0t_64_sync el0t_64_sync_handler el0_svc do_el0_svc el0_svc_common.constprop.0 invoke_syscall __arm64_sys_ppoll do": "ppoll() do",
		"asm_exc_page_fault exc_page_fault do_user_addr_fault handle_mm_fault":                                                "exc_page_fault handle_mm_fault",
		"asm_sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt __sysvec_apic_timer_interrupt hrtimer_interrupt":         "__sysvec_apic_timer_interrupt hrtimer_interrupt",
		"ret_from_fork_asm ret_from_fork kthread worker_thread process_one_work":                                              "worker_thread process_one_work",

		// The innermost function is where the thread was.
		"entry_SYSCALL_64_after_hwframe":                                      "entry_SYSCALL_64_after_hwframe",
		"entry_SYSCALL_64_after_hwframe do_syscall_64":                        "do_syscall_64",
		"entry_SYSCALL_64_after_hwframe do_syscall_64 -":                      "do_syscall_64 -",
		"entry_SYSCALL_64_after_hwframe do_syscall_64 exit_to_user_mode_loop": "exit_to_user_mode_loop",
		"entry_SYSCALL_64_after_hwframe do_syscall_64 __x64_sys_getpid":       "getpid()",
		"do_syscall_64 __x64_sys_recvfrom __sys_recvfrom":                     "recvfrom() __sys_recvfrom",
		"asm_exc_page_fault":                                                  "asm_exc_page_fault",
		"ret_from_fork_asm ret_from_fork kthread":                             "kthread",

		// Equal names further in are functions like others.
		"do_syscall_64 __x64_sys_io_uring_enter io_read kthread do_futex":     "io_uring_enter() io_read kthread do_futex",
		"do_syscall_64 __x64_sys_write vfs_write ksys_read vfs_read":          "write() vfs_write ksys_read vfs_read",
		"do_syscall_64 __x64_sys_sendfile64 do_sendfile do_splice do_syscall": "sendfile64() do_sendfile do_splice do_syscall",
		"- - -": "- - -",
	} {
		functions := strings.Fields(strings.ReplaceAll(stack, "-", " - "))
		var shown []string
		var s Scaffolding
		for i, function := range functions {
			above := ""
			if i+1 < len(functions) {
				above = strings.Trim(functions[i+1], "-")
			}
			call, folded := s.Next(strings.Trim(function, "-"), above)
			switch {
			case call != "":
				shown = append(shown, call)
			case !folded:
				shown = append(shown, function)
			}
		}
		if got := strings.Join(shown, " "); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", stack, got, want)
		}
	}
}

func TestReturnsToThePrograms(t *testing.T) {
	for stack, want := range map[string]bool{
		"asm_sysvec_apic_timer_interrupt irqentry_exit_to_user_mode":                         true,
		"asm_sysvec_reschedule_ipi irqentry_exit_to_user_mode exit_to_user_mode_loop":        true,
		"entry_SYSCALL_64_after_hwframe do_syscall_64 exit_to_user_mode_loop":                true,
		"entry_SYSCALL_64_after_hwframe do_syscall_64 __x64_sys_read vfs_read":               false,
		"entry_SYSCALL_64_after_hwframe do_syscall_64 exit_to_user_mode_loop arch_do_signal": false,
		"asm_exc_page_fault exc_page_fault handle_mm_fault":                                  false,
		"-": false,
	} {
		got := true
		for _, function := range strings.Fields(stack) {
			got = got && IsReturn(function)
		}
		if got != want {
			t.Errorf("%s: %v", stack, got)
		}
	}
}
