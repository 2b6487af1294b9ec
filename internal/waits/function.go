package waits

import "strings"

// function is what a function on the stack of a waiting thread shows.
type function struct {
	begins string // with which its name begins
	class  Class
}

// kernelFunctions are compared with the kernel's part of a stack, frame by frame from the innermost one; the first that matches counts.
func kernelFunctions() []function {
	return []function{
		{"futex_lock_pi", Lock}, {"futex_wait_requeue_pi", Condition},
		{"__mutex_lock", KernelLock}, {"mutex_lock", KernelLock}, {"ww_mutex_lock", KernelLock}, {"rwsem_down_", KernelLock}, {"down_read", KernelLock},
		{"down_write", KernelLock}, {"__down", KernelLock}, {"percpu_down", KernelLock}, {"__percpu_down", KernelLock}, {"percpu_rwsem_wait", KernelLock},
		{"rt_spin_lock", KernelLock}, {"__ww_mutex_lock", KernelLock}, {"bit_wait_io", Disk}, {"bit_wait", KernelLock}, {"synchronize_rcu", KernelWork},
		{"handle_userfault", PageFault}, {"kvm_vcpu_block", Condition}, {"kvm_vcpu_halt", Condition},
		{"ptrace_stop", Signal}, {"do_signal_stop", Signal}, {"do_jobctl_trap", Signal}, {"do_freezer_trap", Signal},
		{"kernel_wait4", Child}, {"kernel_waitid", Child},
		{"io_schedule", Disk}, {"folio_wait_", Disk}, {"__folio_lock", Disk}, {"wait_on_page", Disk}, {"__wait_on_buffer", Disk},
		{"submit_bio_wait", Disk}, {"blk_", Disk}, {"jbd2_log_", Disk}, {"jbd2_", Disk}, {"balance_dirty_pages", Disk}, {"xfs_log_", Disk}, {"btrfs_", Disk},
		{"rpc_wait_bit", Disk}, {"request_wait_answer", Disk}, {"fuse_dev_", Condition}, {"fuse_", Disk}, {"p9_client_rpc", Disk},
		{"asm_exc_page_fault", PageFault}, {"exc_page_fault", PageFault}, {"do_user_addr_fault", PageFault}, {"do_page_fault", PageFault}, {"do_mem_abort", PageFault},
	}
}

// userFunctions distinguish waits for futexes. They are compared with the innermost frames of the user's part of a stack. Names of functions are
// those of glibc, musl, the C++, Rust, Go and Java runtimes and CPython.
func userFunctions() []function {
	return append(semaphoreFunctions(), []function{
		{"pthread_mutex_lock", Lock}, {"pthread_mutex_timedlock", Lock}, {"pthread_mutex_clocklock", Lock}, {"pthread_mutex_cond_lock", Lock}, {"lll_lock_wait", Lock}, {"lll_mutex_lock", Lock},
		{"pthread_rwlock_", Lock}, {"futex_mutex::Mutex::lock", Lock}, {"std::sys::sync::mutex::futex", Lock}, {"std::sys::sync::rwlock", Lock},
		{"Monitor::lock", Lock}, {"Mutex::lock", Lock}, {"absl::Mutex::Lock", Lock},
		{"runtime.lock2", Lock}, {"parking_lot::raw_mutex", Lock}, {"parking_lot::raw_rwlock", Lock}, {"WTF::ParkingLot", Lock},
		{"java.util.concurrent.locks.ReentrantLock", Lock}, {"java.util.concurrent.locks.ReentrantReadWriteLock", Lock},
		{"pthread_join", Child}, {"pthread_clockjoin", Child}, {"pthread_timedjoin", Child},
		{"pthread_cond_", Condition}, {"pthread_barrier_wait", Condition},
		{"runtime.notesleep", Condition}, {"runtime.notetsleep", Condition}, {"runtime.semasleep", Condition}, {"ObjectMonitor::wait", Condition},
		{"std::sys::sync::condvar", Condition}, {"std::__atomic_wait", Condition},
	}...)
}

// semaphoreFunctions are those of the C library that wait for a semaphore.
func semaphoreFunctions() []function {
	return []function{{"sem_wait", Condition}, {"sem_timedwait", Condition}, {"sem_clockwait", Condition}, {"new_sem_wait", Condition}}
}

// builtOnConditions are functions of runtimes that wait for something else by means of a condition variable: Java's monitors and
// Thread.sleep, CPython's lock of the interpreter.
func builtOnConditions() []function {
	return []function{{"ObjectMonitor::enter", Lock}, {"ObjectMonitor::EnterI", Lock}, {"ObjectSynchronizer::enter", Lock}, {"take_gil", Lock}, {"JavaThread::sleep", Timer}}
}

// userFrames is how many of the innermost frames of the user's part are looked at: those between a lock's function and the system call.
const userFrames = 8

// find returns the class of the first function that a name matches. Names of glibc may begin with underscores or __GI_.
func find(rules []function, name string) (Class, bool) {
	name = strings.TrimPrefix(strings.TrimLeft(name, "_"), "GI_")
	name = strings.TrimLeft(name, "_")
	for _, f := range rules {
		if strings.HasPrefix(name, strings.TrimLeft(f.begins, "_")) {
			return f.class, true
		}
	}
	return Unknown, false
}
