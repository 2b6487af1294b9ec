package waits

import (
	"testing"

	"wprof/format"
)

// Waits of programs that the end-to-end test does not run, by what the recorder would have of them.
func TestClasses(t *testing.T) {
	futex := func(op, value uint32) *format.Wait {
		return &format.Wait{Number: 202, Call: []byte("futex"), IsFutex: true, Futex: 0x7000, FutexOp: op, FutexValue: value}
	}
	file := func(call string, kind format.FileKind) *format.Wait {
		return &format.Wait{Call: []byte(call), HasFd: true, Fd: 3, File: uint32(kind)}
	}
	socket := &format.Wait{Call: []byte("recvfrom"), HasFd: true, File: uint32(format.FileKind_FILE_SOCKET), Local: []byte("10.0.0.1:41000"), Remote: []byte("10.0.0.3:5432")}
	for _, c := range []struct {
		name string
		f    Facts
		want Result
	}{
		{"a contended mutex without a stack", Facts{Wait: futex(128, 2)}, Result{Lock, Never}},
		{"a mutex with priority inheritance", Facts{Wait: futex(6|128, 0)}, Result{Lock, Never}},
		{"Python's global lock", Facts{Wait: &format.Wait{Number: 202, Call: []byte("futex"), IsFutex: true, Futex: 0x7000, FutexOp: 9 | 128, IsGil: true}, User: []string{"__futex_abstimed_wait_common", "pthread_cond_timedwait"}}, Result{GIL, Never}},
		{"a condition", Facts{Wait: futex(9|128, 0)}, Result{Condition, IfUsual}},
		{"a mutex of glibc that is locked again after a condition", Facts{Wait: futex(128, 2), User: []string{"__GI___lll_lock_wait", "___pthread_cond_wait"}}, Result{Lock, Never}},
		{"Rust", Facts{Wait: futex(128, 0), User: []string{"syscall", "std::sys::sync::mutex::futex::Mutex::lock_contended"}}, Result{Lock, Never}},
		{"a monitor of Java", Facts{Wait: futex(9|128, 0), User: []string{"__futex_abstimed_wait_common", "pthread_cond_wait", "ObjectMonitor::enter"}}, Result{Lock, Never}},
		{"a full queue", Facts{Wait: futex(9|128, 0), User: []string{"pthread_cond_wait", "queue_push"}}, Result{Condition, Never}},
		{"an empty queue", Facts{Wait: futex(9|128, 0), User: []string{"pthread_cond_wait", "queue_pop"}}, Result{Condition, IfUsual}},
		{"a client's answer", Facts{Wait: socket}, Result{Receive, Never}},
		{"a request", Facts{Wait: file("recvfrom", format.FileKind_FILE_SOCKET)}, Result{Receive, IfUsual}},
		{"room in a pipe", Facts{Wait: file("write", format.FileKind_FILE_PIPE)}, Result{Pipe, Never}},
		{"a disk", Facts{Wait: file("read", format.FileKind_FILE_REGULAR), State: format.StateUninterruptible, Kernel: []string{"io_schedule"}}, Result{DiskRead, Never}},
		{"a journal", Facts{Wait: file("fsync", format.FileKind_FILE_REGULAR), State: format.StateUninterruptible, Kernel: []string{"jbd2_log_wait_commit"}}, Result{DiskSync, Never}},
		{"a commit of a journal's thread", Facts{KernelThread: true, State: format.StateUninterruptible, Kernel: []string{"io_schedule", "jbd2_journal_commit_transaction"}}, Result{Disk, Never}},
		{"Rust without a stack", Facts{Wait: futex(9|128, 2)}, Result{Lock, Never}},
		{"a parked thread of Rust", Facts{Wait: futex(9|128, 0xffffffff)}, Result{Condition, IfUsual}},
		{"a semaphore", Facts{Wait: futex(9|128, 0), User: []string{"do_futex_wait", "__new_sem_wait_slow64.constprop.0"}}, Result{Condition, IfNotHeld}},
		{"musl without a stack", Facts{Wait: futex(128, 0x80000010)}, Result{Lock, Never}},
		{"the kernel's log", Facts{Wait: file("read", format.FileKind_FILE_PSEUDO)}, Result{Condition, IfUsual}},
		{"a poll of the mounts", Facts{Wait: file("poll", format.FileKind_FILE_REGULAR)}, Result{Poll, IfUsual}},
		{"a daemon of FUSE", Facts{Wait: file("read", format.FileKind_FILE_CHARACTER_DEVICE), Kernel: []string{"fuse_dev_do_read", "fuse_dev_read"}}, Result{Condition, IfUsual}},
		{"a sleep after a stop", Facts{Wait: &format.Wait{Call: []byte("restart_syscall")}, Kernel: []string{"do_nanosleep", "hrtimer_nanosleep", "__x64_sys_restart_syscall"}}, Result{Timer, IfUsual}},
		{"a poll after a stop", Facts{Wait: &format.Wait{Call: []byte("restart_syscall")}, Kernel: []string{"schedule_hrtimeout_range", "do_sys_poll", "__x64_sys_restart_syscall"}}, Result{Poll, IfUsual}},
		{"a cold file that is sent", Facts{Wait: file("sendfile", format.FileKind_FILE_SOCKET), Kernel: []string{"io_schedule"}}, Result{DiskRead, Never}},
		{"room in a socket", Facts{Wait: file("sendfile", format.FileKind_FILE_SOCKET)}, Result{Send, Never}},
		{"a short wait for I/O", Facts{State: format.StateUninterruptible | format.StateIOWait}, Result{Disk, Never}},
		{"I/O of a call", Facts{Wait: file("fsync", format.FileKind_FILE_REGULAR), State: format.StateUninterruptible | format.StateIOWait}, Result{DiskSync, Never}},
		{"a page without a stack", Facts{Wait: &format.Wait{Number: -1}, State: format.StateUninterruptible | format.StateKillable | format.StateIOWait}, Result{PageFault, Never}},
		{"a page of a mapped file", Facts{Wait: &format.Wait{Number: -1}, Kernel: []string{"io_schedule", "folio_wait_bit_common", "filemap_fault", "exc_page_fault", "asm_exc_page_fault"}}, Result{PageFault, Never}},
		{"the address space", Facts{Wait: &format.Wait{Call: []byte("mmap")}, Kernel: []string{"rwsem_down_write_slowpath", "__x64_sys_mmap"}}, Result{KernelLock, Never}},
		{"a stopped thread", Facts{State: format.StateStopped, Wait: futex(128, 2)}, Result{Signal, IfUsual}},
		{"a kernel thread", Facts{KernelThread: true, State: format.StateIdle, Kernel: []string{"worker_thread", "kthread"}}, Result{KernelWork, Always}},
		{"only a stack", Facts{Kernel: []string{"ep_poll", "__x64_sys_epoll_wait"}}, Result{Poll, IfUsual}},
		{"nothing", Facts{State: format.StateInterruptible}, Result{Unknown, Never}},
	} {
		r := newRules()
		class := r.classify(&c.f)
		if got := (Result{class, r.idle(class, &c.f)}); got != c.want {
			t.Errorf("%s: %v, idle %d; want %v, idle %d", c.name, got.Class, got.Idle, c.want.Class, c.want.Idle)
		}
	}
}
