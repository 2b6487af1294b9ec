package cli

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// AsUser calls a function with no more right to files than the user has who runs the tool: capabilities that the
// program's file was given, for looking at other users' processes, are no leave to read other users' files. None of them is
// in effect meanwhile, because a file can be reached by several paths: those that allow access to a process also open what
// /proc/PID/cwd, root and exe lead to. What counts is the thread, so the function must not go on in another goroutine.
func AsUser(do func() error) error {
	if os.Getuid() == 0 {
		return do()
	}
	runtime.LockOSThread()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("read the capabilities: %w", err)
	}
	less := have
	less[0].Effective, less[1].Effective = 0, 0
	if less == have {
		runtime.UnlockOSThread()
		return do()
	}
	if err := unix.Capset(&header, &less[0]); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("lay down capabilities: %w", err)
	}
	err := do()
	if unix.Capset(&header, &have[0]) == nil {
		// Else the thread stays as it is and ends with its goroutine.
		runtime.UnlockOSThread()
	}
	return err
}
