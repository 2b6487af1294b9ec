package proc

import "golang.org/x/sys/unix"

// FileLimit is how many files this process may have open (RLIMIT_NOFILE's maximum; Go raises the soft one to it).
func FileLimit() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return int(min(limit.Max, 1<<20))
}

// RaiseFileLimit allows at least so many open files, if this process has the right to (CAP_SYS_RESOURCE). Programs that
// are started from then on have the limit, too.
func RaiseFileLimit(least int) {
	limit := unix.Rlimit{Cur: uint64(least), Max: uint64(least)}
	if FileLimit() < least {
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	}
}

// LimitsFileSize reports whether a limit of this process keeps files from growing (ulimit -f).
func LimitsFileSize() bool {
	var limit unix.Rlimit
	return unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) == nil && limit.Cur != unix.RLIM_INFINITY
}
