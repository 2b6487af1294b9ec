package proc

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Host is where a recording is made.
type Host struct {
	Name    string
	BootID  string // one boot of one machine: clocks of two captures compare only if it is the same
	Release string // uname -r
	Version string // uname -v
	Machine string // uname -m
}

// ReadHost reads the kernel's uname.
func ReadHost() (Host, error) {
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return Host{}, fmt.Errorf("read the kernel's name: %w", err)
	}
	bootID, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Host{}, fmt.Errorf("read the boot id: %w", err)
	}
	return Host{
		Name:    unix.ByteSliceToString(uts.Nodename[:]),
		BootID:  strings.TrimSpace(string(bootID)),
		Release: unix.ByteSliceToString(uts.Release[:]),
		Version: unix.ByteSliceToString(uts.Version[:]),
		Machine: unix.ByteSliceToString(uts.Machine[:]),
	}, nil
}
