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
}

// direction is which way data goes in a call.
type direction uint8

const (
	reading direction = iota
	writing
	syncing
)

// calls are the system calls whose arguments or name show what a thread waits for.
func calls() []Call {
	return []Call{
		{"futex", arg0 | arg1 | arg2 | useFutex, Condition},
		{"futex_wait", arg0 | arg1 | useFutex, Condition},
		{"futex_waitv", arg1, Condition},
		{"read", fdOnly, KernelWork}, {"pread64", fdOnly, DiskRead}, {"readv", fdOnly, KernelWork}, {"preadv", fdOnly, DiskRead}, {"preadv2", fdOnly, DiskRead},
		{"write", fdOnly, KernelWork}, {"pwrite64", fdOnly, DiskWrite}, {"writev", fdOnly, KernelWork}, {"pwritev", fdOnly, DiskWrite}, {"pwritev2", fdOnly, DiskWrite},
		{"recvfrom", fdOnly, Receive}, {"recvmsg", fdOnly, Receive}, {"recvmmsg", fdOnly, Receive},
		{"sendto", fdOnly, Send}, {"sendmsg", fdOnly, Send}, {"sendmmsg", fdOnly, Send},
		{"sendfile", fdOnly, Send}, {"splice", fdOnly, Pipe}, {"tee", fdOnly, Pipe}, {"vmsplice", fdOnly, Pipe}, {"copy_file_range", fdOnly, DiskRead},
		{"accept", fdOnly, Accept}, {"accept4", fdOnly, Accept}, {"connect", fdOnly, Connect},
		{"poll", arg0 | arg1 | usePollFD, Poll}, {"ppoll", arg0 | arg1 | usePollFD, Poll},
		{"select", arg0, Poll}, {"pselect6", arg0, Poll},
		{"epoll_wait", fdOnly, Poll}, {"epoll_pwait", fdOnly, Poll}, {"epoll_pwait2", fdOnly, Poll},
		{"io_uring_enter", fdOnly | arg1 | arg2, Poll}, {"io_getevents", 0, DiskRead}, {"io_pgetevents", 0, DiskRead},
		{"nanosleep", 0, Timer}, {"clock_nanosleep", arg0 | arg1, Timer},
		{"pause", 0, Signal}, {"rt_sigsuspend", 0, Signal}, {"rt_sigtimedwait", 0, Signal}, {"restart_syscall", 0, Unknown},
		{"wait4", arg0 | arg2, Child}, {"waitid", arg0 | arg1, Child}, {"vfork", 0, Child}, {"clone", 0, Child}, {"clone3", 0, Child},
		{"ptrace", arg0 | arg1, Child},
		{"semop", arg0, Condition}, {"semtimedop", arg0, Condition}, {"msgrcv", arg0, Condition}, {"msgsnd", arg0, Condition},
		{"mq_timedreceive", fdOnly, Condition}, {"mq_timedsend", fdOnly, Condition},
		{"flock", fdOnly | arg1, Lock}, {"fcntl", fdOnly | arg1, Lock},
		{"fsync", fdOnly, DiskSync}, {"fdatasync", fdOnly, DiskSync}, {"sync_file_range", fdOnly, DiskSync}, {"syncfs", fdOnly, DiskSync},
		{"msync", 0, DiskSync}, {"sync", 0, DiskSync},
		{"getdents", fdOnly, DiskRead}, {"getdents64", fdOnly, DiskRead}, {"readahead", fdOnly, DiskRead}, {"fadvise64", fdOnly, DiskRead},
		{"ftruncate", fdOnly, DiskWrite}, {"fallocate", fdOnly, DiskWrite}, {"ioctl", fdOnly | arg1, KernelWork}, {"close", fdOnly, KernelWork},
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

// directionOf returns which way data goes in a call.
func directionOf(call string) direction {
	switch call {
	case "write", "pwrite64", "writev", "pwritev", "pwritev2", "sendto", "sendmsg", "sendmmsg", "sendfile", "ftruncate", "fallocate",
		"unlink", "unlinkat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "truncate", "link", "linkat", "symlink", "symlinkat":
		return writing
	case "fsync", "fdatasync", "sync_file_range", "syncfs", "msync", "sync":
		return syncing
	}
	return reading
}
