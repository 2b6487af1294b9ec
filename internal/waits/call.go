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
	useRing   // of io_uring_enter: the fourth argument says whether the first one is a descriptor
)

const fdOnly = arg0 | useFD

// Call is how a system call waits.
type Call struct {
	Name  string
	Use   Use
	Class Class // of a wait in it, where its descriptor and the stack say nothing else; Unknown: nothing is known
	disk  Class // of a wait in it for a disk; Unknown: either way
}

// calls are the system calls whose arguments or name show what a thread waits for, and others that use a disk.
func calls() []Call {
	return []Call{
		{"futex", arg0 | arg1 | arg2 | useFutex, Condition, DiskRead},
		{"futex_wait", arg0 | arg1 | useFutex, Condition, DiskRead},
		{"futex_waitv", arg1, Condition, DiskRead},
		{"read", fdOnly, KernelWork, DiskRead}, {"pread64", fdOnly, DiskRead, DiskRead}, {"readv", fdOnly, KernelWork, DiskRead},
		{"preadv", fdOnly, DiskRead, DiskRead}, {"preadv2", fdOnly, DiskRead, DiskRead},
		{"write", fdOnly, KernelWork, DiskWrite}, {"pwrite64", fdOnly, DiskWrite, DiskWrite}, {"writev", fdOnly, KernelWork, DiskWrite},
		{"pwritev", fdOnly, DiskWrite, DiskWrite}, {"pwritev2", fdOnly, DiskWrite, DiskWrite},
		{"recvfrom", fdOnly, Receive, DiskRead}, {"recvmsg", fdOnly, Receive, DiskRead}, {"recvmmsg", fdOnly, Receive, DiskRead},
		{"sendto", fdOnly, Send, DiskWrite}, {"sendmsg", fdOnly, Send, DiskWrite}, {"sendmmsg", fdOnly, Send, DiskWrite},
		{"sendfile", fdOnly, Send, DiskRead}, {"splice", fdOnly, Pipe, DiskRead}, {"tee", fdOnly, Pipe, DiskRead},
		{"vmsplice", fdOnly, Pipe, DiskRead}, {"copy_file_range", fdOnly, DiskRead, DiskRead},
		{"accept", fdOnly, Accept, DiskRead}, {"accept4", fdOnly, Accept, DiskRead}, {"connect", fdOnly, Connect, DiskRead},
		{"poll", arg0 | arg1 | usePollFD, Poll, DiskRead}, {"ppoll", arg0 | arg1 | usePollFD, Poll, DiskRead},
		{"select", arg0, Poll, DiskRead}, {"pselect6", arg0, Poll, DiskRead},
		{"epoll_wait", fdOnly, Poll, DiskRead}, {"epoll_pwait", fdOnly, Poll, DiskRead}, {"epoll_pwait2", fdOnly, Poll, DiskRead},
		{"io_uring_enter", fdOnly | arg1 | arg2 | useRing, Poll, DiskRead}, {"io_getevents", 0, DiskRead, DiskRead}, {"io_pgetevents", 0, DiskRead, DiskRead},
		{"nanosleep", 0, Timer, DiskRead}, {"clock_nanosleep", arg0 | arg1, Timer, DiskRead},
		{"pause", 0, Signal, DiskRead}, {"rt_sigsuspend", 0, Signal, DiskRead}, {"rt_sigtimedwait", 0, Signal, DiskRead},
		{"restart_syscall", 0, Unknown, DiskRead},
		{"wait4", arg0 | arg2, Child, DiskRead}, {"waitid", arg0 | arg1, Child, DiskRead}, {"vfork", 0, Child, DiskRead},
		{"clone", 0, Child, DiskRead}, {"clone3", 0, Child, DiskRead},
		{"ptrace", arg0 | arg1, Child, DiskRead},
		{"semop", arg0, Condition, DiskRead}, {"semtimedop", arg0, Condition, DiskRead}, {"msgrcv", arg0, Condition, DiskRead},
		{"msgsnd", arg0, Condition, DiskRead},
		{"mq_timedreceive", fdOnly, Condition, DiskRead}, {"mq_timedsend", fdOnly, Condition, DiskRead},
		{"flock", fdOnly | arg1, Lock, DiskRead}, {"fcntl", fdOnly | arg1, Lock, DiskRead},
		{"fsync", fdOnly, DiskSync, DiskSync}, {"fdatasync", fdOnly, DiskSync, DiskSync}, {"sync_file_range", fdOnly, DiskSync, DiskSync},
		{"syncfs", fdOnly, DiskSync, DiskSync},
		{"msync", 0, DiskSync, DiskSync}, {"sync", 0, DiskSync, DiskSync},
		{"getdents", fdOnly, DiskRead, DiskRead}, {"getdents64", fdOnly, DiskRead, DiskRead}, {"readahead", fdOnly, DiskRead, DiskRead},
		{"fadvise64", fdOnly, DiskRead, DiskRead},
		{"ftruncate", fdOnly, DiskWrite, DiskWrite}, {"fallocate", fdOnly, DiskWrite, DiskWrite}, {"ioctl", fdOnly | arg1, KernelWork, DiskRead},
		{"close", fdOnly, KernelWork, DiskRead},
		{"unlink", 0, Unknown, DiskWrite}, {"unlinkat", 0, Unknown, DiskWrite}, {"rename", 0, Unknown, DiskWrite}, {"renameat", 0, Unknown, DiskWrite},
		{"renameat2", 0, Unknown, DiskWrite}, {"mkdir", 0, Unknown, DiskWrite}, {"mkdirat", 0, Unknown, DiskWrite},
		{"rmdir", 0, Unknown, DiskWrite}, {"truncate", 0, Unknown, DiskWrite}, {"link", 0, Unknown, DiskWrite}, {"linkat", 0, Unknown, DiskWrite},
		{"symlink", 0, Unknown, DiskWrite}, {"symlinkat", 0, Unknown, DiskWrite},
		{"open", 0, Unknown, DiskRead}, {"openat", 0, Unknown, DiskRead}, {"openat2", 0, Unknown, DiskRead}, {"execve", 0, Unknown, DiskRead},
		{"stat", 0, Unknown, DiskRead}, {"lstat", 0, Unknown, DiskRead}, {"newfstatat", 0, Unknown, DiskRead}, {"statx", 0, Unknown, DiskRead},
		{"access", 0, Unknown, DiskRead}, {"faccessat", 0, Unknown, DiskRead}, {"faccessat2", 0, Unknown, DiskRead},
		{"readlink", 0, Unknown, DiskRead}, {"readlinkat", 0, Unknown, DiskRead},
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
