package cli

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

const brokenPipe = endOfPipe("broken pipe")

// endOfPipe stands for SIGPIPE, which Windows does not have.
type endOfPipe string

func (e endOfPipe) String() string { return string(e) }
func (endOfPipe) Signal()          {}

// watcher does not exist on Windows: only a write shows that a pipe is closed.
type watcher struct{ done chan struct{} }

func newWatcher(*os.File) *watcher { return nil }

func (*watcher) wait() bool { return false }

func (*watcher) stop() {}

func catchPipeSignal() {}

func isBrokenPipe(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}
