package waits

// Class is what a thread waits for.
type Class uint8

// The classes; [Classes] has their meaning.
const (
	Unknown Class = iota
	Lock
	Condition
	Receive
	Send
	Accept
	Connect
	Poll
	Timer
	DiskRead
	DiskWrite
	DiskSync
	Disk
	PageFault
	Pipe
	Terminal
	Child
	Signal
	KernelLock
	KernelWork
	GIL
	Preempted
	Throttled
	Runnable

	// Count is the number of classes.
	Count = int(Runnable) + 1
)

// ClassInfo describes a class.
type ClassInfo struct {
	Class Class
	Name  string // in every output
	Verb  string // begins the text about one wait
	Idle  Idle   // whether a thread waits for work
	Doc   string
}

// Idle is whether waits of a class are waits for work.
type Idle uint8

const (
	Never     Idle = iota
	IfUsual        // where they are the thread's usual place
	IfNotHeld      // as IfUsual, unless threads have to wait for others of them: see [Semaphore]
	IfShown        // where what they wait for is shown itself
	Always
)

// Classes is the table of classes, in the order of their numbers.
func Classes() []ClassInfo {
	return []ClassInfo{
		{Unknown, "unknown", "blocked", Never, "neither the system call nor the stack shows it, or neither was recorded"},
		{Lock, "lock", "lock", Never, "a lock in user memory: a mutex, a read-write lock, a monitor, a file lock"},
		{Condition, "condition", "wait", IfUsual, "another thread's signal: a condition variable, a semaphore, an eventfd, a message queue, a futex of another kind; or an event of a device or of the kernel"},
		{Receive, "receive", "recv", IfUsual, "data from a socket, also by a poll of that socket alone"},
		{Send, "send", "send", Never, "room in a socket's buffer"},
		{Accept, "accept", "accept", Always, "a new connection"},
		{Connect, "connect", "connect", Never, "a connection that the thread opens"},
		{Poll, "poll", "poll", IfUsual, "any of several descriptors"},
		{Timer, "timer", "sleep", IfUsual, "a time: a sleep, a timerfd"},
		{DiskRead, "disk read", "read", Never, "a file system or block device that reads"},
		{DiskWrite, "disk write", "write", Never, "a file system or block device that writes"},
		{DiskSync, "disk sync", "sync", Never, "written data to be stored: fsync and the like"},
		{Disk, "disk", "disk", Never, "a file system or block device, by the kernel's mark for I/O; whether it reads or writes was not recorded"},
		{PageFault, "page fault", "fault", Never, "a page of memory that has to be read, or provided by another thread"},
		{Pipe, "pipe", "pipe", IfUsual, "the other end of a pipe"},
		{Terminal, "terminal", "terminal", Always, "input from a terminal, or output to it"},
		{Child, "child", "child", IfShown, "a child process, or a thread to be joined"},
		{Signal, "signal", "signal", IfUsual, "a signal, or to be continued after a stop"},
		{KernelLock, "kernel lock", "kernel lock", Never, "a lock in the kernel"},
		{KernelWork, "kernel work", "kernel", Never, "something else in the kernel; of a kernel thread also work"},
		{GIL, "gil", "GIL", Never, "the global lock of a Python interpreter, which executes bytecode in one thread at a time"},
		{Preempted, "preempted", "preempted", Never, "a CPU, which it lost without wanting to wait"},
		{Throttled, "throttled", "throttled", Never, "a CPU, since its cgroup has used up its CPU quota; until it runs again"},
		{Runnable, "runnable", "runnable", Never, "a CPU, after what it waited for has come"},
	}
}

// DiskClasses returns the classes of waits for file systems and block devices.
func DiskClasses() []Class { return []Class{DiskRead, DiskWrite, DiskSync, Disk} }

// IsLock reports whether threads wait for others that have something: a lock.
func (c Class) IsLock() bool { return c == Lock || c == KernelLock || c == GIL }

func (c Class) String() string { return Classes()[c].Name }
