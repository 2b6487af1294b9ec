package cli

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// AsUser calls a function with the file permissions of the user who runs the tool: capabilities that the
// program's file was given, for reading other users' processes, must not open other users' files. None of them is
// in effect during the call, because a file can be reached by several paths: those that allow access to a process also open what
// /proc/PID/cwd, root and exe lead to. Capabilities belong to the thread, so the function must not continue in another goroutine.
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
		return fmt.Errorf("drop capabilities: %w", err)
	}
	err := do()
	if unix.Capset(&header, &have[0]) == nil {
		// Otherwise the thread stays without them and ends with its goroutine.
		runtime.UnlockOSThread()
	}
	return err
}
