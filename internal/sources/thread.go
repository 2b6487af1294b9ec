package sources

import (
	"runtime"

	"wprof/format"
	"wprof/internal/ringdata"
)

// moveTypes are instants of threads that are moved to another CPU or cgroup.
func moveTypes() []Type {
	number := func(name string) *format.TypeField { return Field(name, format.ValueType_VALUE_UINT) }
	path := func(name string) *format.TypeField { return Field(name, format.ValueType_VALUE_TEXT) }
	by := Field("by", format.ValueType_VALUE_TASK)
	return []Type{
		{
			Number: ringdata.TypeMigration, Feature: "migrate", Doc: "moves of threads between CPUs, NUMA nodes and cgroups",
			Programs: []Program{{Name: "sched_migrate_task", Writes: true}},
			Def: instant("migrate", "migrate", "Migrations", format.TypeTrack_TRACK_THREAD,
				number("from"), number("to"), number("from_node"), number("to_node"), by),
		},
		{
			// The recorder knows the paths: see setPaths in internal/assemble.
			Number: ringdata.TypeCgroup, Feature: "migrate",
			Programs: []Program{{Name: "cgroup_moved", On: "cgroup_attach_task", Writes: true, Optional: true}},
			Def: instant("cgroup_move", "migrate", "Migrations", format.TypeTrack_TRACK_THREAD,
				path("from"), path("to"), Field("process", format.ValueType_VALUE_BOOL), by),
		},
	}
}

// signalTypes are instants of the threads that send signals and of those that get them.
func signalTypes() []Type {
	number, code := name(enum("signal", signals()...)), Field("code", format.ValueType_VALUE_INT)
	return []Type{
		{
			Number: ringdata.TypeSignal, Feature: "signal", Doc: "signals, sent and delivered, with handlers",
			Programs: []Program{{Name: "signal_generate", Writes: true}},
			Def: instant("signal_sent", "signal", "Signals sent", format.TypeTrack_TRACK_THREAD,
				number, Field("target", format.ValueType_VALUE_TASK), Field("to_process", format.ValueType_VALUE_BOOL),
				// TRACE_SIGNAL_DELIVERED and so on: include/trace/events/signal.h.
				enum("result", numbered(0, "queued", "ignored", "already pending", "queue full", "information lost")...), code),
		},
		{
			Number: ringdata.TypeDelivery, Feature: "signal",
			Programs: []Program{{Name: "signal_deliver", Writes: true}},
			Def: instant("signal_delivered", "signal", "Signals delivered", format.TypeTrack_TRACK_THREAD,
				number, enum("action", numbered(0, "default", "ignore", "handler")...), code, Field("handler", format.ValueType_VALUE_STACK)),
		},
	}
}

// signals are those of x86-64 and arm64: signal(7).
func signals() []*format.EnumName {
	return numbered(1, "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL", "SIGUSR1", "SIGSEGV",
		"SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT", "SIGCHLD", "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG",
		"SIGXCPU", "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO", "SIGPWR", "SIGSYS")
}

// faultTypes are instants of the threads that have page faults.
func faultTypes() []Type {
	address, file := hex(Field("address", format.ValueType_VALUE_UINT)), Field("file", format.ValueType_VALUE_TEXT)
	stack := Field("stack", format.ValueType_VALUE_STACK)
	programs := []Program{{Name: "fault_counted", Writes: true, Event: Faults}}
	if runtime.GOARCH == "amd64" {
		programs = []Program{{Name: "page_fault_user", Writes: true}, {Name: "page_fault_kernel", Writes: true, Skipped: true}}
	}
	return []Type{
		{
			Number: ringdata.TypeFault, Feature: "fault", Doc: "page faults, and the major ones among them with stacks",
			Programs: programs,
			Def: instant("fault", "fault", "Page faults", format.TypeTrack_TRACK_THREAD,
				enum("access", numbered(ringdata.FaultAccessRead, "read", "write", "execute", "unknown")...), address, file, stack),
		},
		{
			Number: ringdata.TypeMajorFault, Feature: "fault",
			Programs: []Program{{Name: "fault_major", Writes: true, Event: FaultsMajor}},
			Def:      instant("major_fault", "fault", "Page faults", format.TypeTrack_TRACK_THREAD, address, file, stack),
		},
	}
}

func resident(name string) *format.TypeField {
	return counter(unit(Field(name, format.ValueType_VALUE_UINT), "bytes"))
}

// memoryTypes are about threads that get no memory at once, and about the memory that processes have.
func memoryTypes() []Type {
	open := Program{Name: "open_reclaims", AtClose: true}
	return []Type{
		{
			Number: ringdata.TypeReclaim, Feature: "memory", Doc: "resident memory of processes, direct reclaim, compaction, processes killed for lack of memory",
			Programs: []Program{{Name: "mm_vmscan_direct_reclaim_begin"}, {Name: "mm_vmscan_direct_reclaim_end", Writes: true},
				{Name: "mm_vmscan_memcg_reclaim_begin", Optional: true}, {Name: "mm_vmscan_memcg_reclaim_end", Writes: true, Optional: true}, open},
			Def: threadSpan("reclaim", "memory", "Memory",
				Field("order", format.ValueType_VALUE_UINT), Field("pages", format.ValueType_VALUE_UINT)),
		},
		{
			Number: ringdata.TypeCompaction, Feature: "memory",
			Programs: []Program{{Name: "mm_compaction_begin", Optional: true}, {Name: "mm_compaction_end", Writes: true, Optional: true}, open},
			Def:      threadSpan("compaction", "memory", "Memory"),
		},
		{
			Number: ringdata.TypeOom, Feature: "memory",
			Programs: []Program{{Name: "mark_victim", Writes: true}},
			Def:      instant("oom_kill", "memory", "Memory", format.TypeTrack_TRACK_THREAD, Field("victim", format.ValueType_VALUE_TASK)),
		},
		{
			Number: ringdata.TypeRss, Feature: "memory",
			Programs: []Program{{Name: "rss_stat", Writes: true}},
			Def:      instant("rss", "memory", "Resident", format.TypeTrack_TRACK_PROCESS, resident("file"), resident("anon"), resident("swap"), resident("shmem")),
		},
	}
}

// ringTypes are spans of requests of io_uring.
func ringTypes() []Type {
	return []Type{{
		Number: ringdata.TypeIoUring, Feature: "io_uring", Doc: "requests of io_uring",
		Programs: []Program{
			{Name: "io_uring_submit_req", Optional: true, Instead: "io_uring_submit_sqe"},
			{Name: "io_uring_submit_sqe", Optional: true, Instead: "io_uring_submit_req"}, {Name: "io_uring_complete", Writes: true},
			{Name: "open_ring_requests", AtClose: true},
		},
		Def: threadSpan("io_uring", "io_uring", "io_uring",
			name(enum("op", ringOperations()...)), Field("result", format.ValueType_VALUE_INT), hex(Field("user_data", format.ValueType_VALUE_UINT))),
	}}
}

// ringOperations are enum io_uring_op of include/uapi/linux/io_uring.h.
func ringOperations() []*format.EnumName {
	return numbered(0, "nop", "readv", "writev", "fsync", "read_fixed", "write_fixed", "poll_add", "poll_remove", "sync_file_range", "sendmsg",
		"recvmsg", "timeout", "timeout_remove", "accept", "async_cancel", "link_timeout", "connect", "fallocate", "openat", "close", "files_update",
		"statx", "read", "write", "fadvise", "madvise", "send", "recv", "openat2", "epoll_ctl", "splice", "provide_buffers", "remove_buffers", "tee",
		"shutdown", "renameat", "unlinkat", "mkdirat", "symlinkat", "linkat", "msg_ring", "fsetxattr", "setxattr", "fgetxattr", "getxattr", "socket",
		"uring_cmd", "send_zc", "sendmsg_zc", "read_multishot", "waitid", "futex_wait", "futex_wake", "futex_waitv", "fixed_fd_install", "ftruncate",
		"bind", "listen", "recv_zc", "epoll_wait", "readv_fixed", "writev_fixed", "pipe")
}
