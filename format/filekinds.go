package format

// FileKindInfo describes what a file descriptor refers to.
type FileKindInfo struct {
	Kind FileKind
	Name string // in outputs
	Doc  string
}

// FileKinds is the table of what descriptors refer to, in the order of their numbers.
func FileKinds() []FileKindInfo {
	return []FileKindInfo{
		{FileKind_FILE_UNKNOWN, "unknown", "there was none, or it could not be read"},
		{FileKind_FILE_REGULAR, "file", "a regular file"},
		{FileKind_FILE_DIRECTORY, "directory", "a directory"},
		{FileKind_FILE_PIPE, "pipe", "a pipe or FIFO"},
		{FileKind_FILE_SOCKET, "socket", "a socket, see family and protocol"},
		{FileKind_FILE_EVENTFD, "eventfd", "eventfd(2)"},
		{FileKind_FILE_EPOLL, "epoll", "epoll(7)"},
		{FileKind_FILE_TIMERFD, "timerfd", "timerfd_create(2)"},
		{FileKind_FILE_SIGNALFD, "signalfd", "signalfd(2)"},
		{FileKind_FILE_INOTIFY, "inotify", "inotify(7)"},
		{FileKind_FILE_TERMINAL, "terminal", "a terminal or pseudoterminal"},
		{FileKind_FILE_CHARACTER_DEVICE, "character device", "another character device"},
		{FileKind_FILE_BLOCK_DEVICE, "block device", "a block device"},
		{FileKind_FILE_IO_URING, "io_uring", "io_uring(7)"},
		{FileKind_FILE_PIDFD, "pidfd", "pidfd_open(2)"},
		{FileKind_FILE_ANONYMOUS, "anonymous", "another anonymous inode; path is its name"},
		{FileKind_FILE_PSEUDO, "pseudo file", "a regular file without stored data, as in /proc and /sys"},
	}
}

// FileName returns the name of what the wait's descriptor refers to.
func (w *Wait) FileName() string {
	kinds := FileKinds()
	if int64(w.GetFile()) < int64(len(kinds)) {
		return kinds[w.GetFile()].Name
	}
	return kinds[0].Name
}
