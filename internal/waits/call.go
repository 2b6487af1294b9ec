package waits

// Use is how the arguments of a system call are used. The bits are those of enum rec_wait_use in bpf/wait.h.
type Use = uint16

const (
	arg0 Use = 1 << iota // arguments that identify what is waited for
	arg1
	arg2
	arg3
	arg4
	arg5
	useFD     // the first argument is a descriptor
	useFutex  // the first argument is a futex's address
	usePollFD // the first argument is the address of an array of struct pollfd
)

const fdOnly = arg0 | useFD

// Call is how a system call waits.
type Call struct {
	Name  string
	Use   Use
	Class Class // of a wait in it, where its descriptor and the stack say nothing else; Unknown: nothing is known
	way   direction
}

// direction is which way data goes in a call: with a disk, that is the class of its waits.
type direction uint8

const (
	reading direction = iota
	writing
	syncing
)

// calls are the system calls whose arguments or name show what a thread waits for, and others that write.
func calls() []Call {
	return []Call{
		{"futex", arg0 | arg1 | arg2 | useFutex, Condition, reading},
		{"futex_wait", arg0 | arg1 | useFutex, Condition, reading},
		{"futex_waitv", arg1, Condition, reading},
		{"read", fdOnly, KernelWork, reading}, {"pread64", fdOnly, DiskRead, reading}, {"readv", fdOnly, KernelWork, reading},
		{"preadv", fdOnly, DiskRead, reading}, {"preadv2", fdOnly, DiskRead, reading},
		{"write", fdOnly, KernelWork, writing}, {"pwrite64", fdOnly, DiskWrite, writing}, {"writev", fdOnly, KernelWork, writing},
		{"pwritev", fdOnly, DiskWrite, writing}, {"pwritev2", fdOnly, DiskWrite, writing},
		{"recvfrom", fdOnly, Receive, reading}, {"recvmsg", fdOnly, Receive, reading}, {"recvmmsg", fdOnly, Receive, reading},
		{"sendto", fdOnly, Send, writing}, {"sendmsg", fdOnly, Send, writing}, {"sendmmsg", fdOnly, Send, writing},
		{"sendfile", fdOnly, Send, writing}, {"splice", fdOnly, Pipe, reading}, {"tee", fdOnly, Pipe, reading},
		{"vmsplice", fdOnly, Pipe, reading}, {"copy_file_range", fdOnly, DiskRead, reading},
		{"accept", fdOnly, Accept, reading}, {"accept4", fdOnly, Accept, reading}, {"connect", fdOnly, Connect, reading},
		{"poll", arg0 | arg1 | usePollFD, Poll, reading}, {"ppoll", arg0 | arg1 | usePollFD, Poll, reading},
		{"select", arg0, Poll, reading}, {"pselect6", arg0, Poll, reading},
		{"epoll_wait", fdOnly, Poll, reading}, {"epoll_pwait", fdOnly, Poll, reading}, {"epoll_pwait2", fdOnly, Poll, reading},
		{"io_uring_enter", fdOnly | arg1 | arg2, Poll, reading}, {"io_getevents", 0, DiskRead, reading}, {"io_pgetevents", 0, DiskRead, reading},
		{"nanosleep", 0, Timer, reading}, {"clock_nanosleep", arg0 | arg1, Timer, reading},
		{"pause", 0, Signal, reading}, {"rt_sigsuspend", 0, Signal, reading}, {"rt_sigtimedwait", 0, Signal, reading},
		{"restart_syscall", 0, Unknown, reading},
		{"wait4", arg0 | arg2, Child, reading}, {"waitid", arg0 | arg1, Child, reading}, {"vfork", 0, Child, reading},
		{"clone", 0, Child, reading}, {"clone3", 0, Child, reading},
		{"ptrace", arg0 | arg1, Child, reading},
		{"semop", arg0, Condition, reading}, {"semtimedop", arg0, Condition, reading}, {"msgrcv", arg0, Condition, reading},
		{"msgsnd", arg0, Condition, reading},
		{"mq_timedreceive", fdOnly, Condition, reading}, {"mq_timedsend", fdOnly, Condition, reading},
		{"flock", fdOnly | arg1, Lock, reading}, {"fcntl", fdOnly | arg1, Lock, reading},
		{"fsync", fdOnly, DiskSync, syncing}, {"fdatasync", fdOnly, DiskSync, syncing}, {"sync_file_range", fdOnly, DiskSync, syncing},
		{"syncfs", fdOnly, DiskSync, syncing},
		{"msync", 0, DiskSync, syncing}, {"sync", 0, DiskSync, syncing},
		{"getdents", fdOnly, DiskRead, reading}, {"getdents64", fdOnly, DiskRead, reading}, {"readahead", fdOnly, DiskRead, reading},
		{"fadvise64", fdOnly, DiskRead, reading},
		{"ftruncate", fdOnly, DiskWrite, writing}, {"fallocate", fdOnly, DiskWrite, writing}, {"ioctl", fdOnly | arg1, KernelWork, reading},
		{"close", fdOnly, KernelWork, reading},
		{"unlink", 0, Unknown, writing}, {"unlinkat", 0, Unknown, writing}, {"rename", 0, Unknown, writing}, {"renameat", 0, Unknown, writing},
		{"renameat2", 0, Unknown, writing}, {"mkdir", 0, Unknown, writing}, {"mkdirat", 0, Unknown, writing},
		{"rmdir", 0, Unknown, writing}, {"truncate", 0, Unknown, writing}, {"link", 0, Unknown, writing}, {"linkat", 0, Unknown, writing},
		{"symlink", 0, Unknown, writing}, {"symlinkat", 0, Unknown, writing},
	}
}

// Uses returns how the arguments of each system call are used, by its number; names are the names of the calls by number.
func Uses(names []string) []Use {
	byName := make(map[string]Use)
	for _, c := range calls() {
		byName[c.Name] = c.Use
	}
	uses := make([]Use, len(names))
	for number, name := range names {
		uses[number] = byName[name]
	}
	return uses
}
