package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
)

// Capability is one of Linux's capabilities(7); the numbers are those of include/uapi/linux/capability.h.
type Capability uint

// The capabilities that tracing needs, or uses if it has them.
const (
	CapDACReadSearch     Capability = 2
	CapSysPtrace         Capability = 19
	CapSysAdmin          Capability = 21
	CapSysResource       Capability = 24
	CapPerfmon           Capability = 38
	CapBPF               Capability = 39
	CapCheckpointRestore Capability = 40
)

func (c Capability) String() string {
	switch c {
	case CapDACReadSearch:
		return "CAP_DAC_READ_SEARCH"
	case CapSysPtrace:
		return "CAP_SYS_PTRACE"
	case CapSysResource:
		return "CAP_SYS_RESOURCE"
	case CapSysAdmin:
		return "CAP_SYS_ADMIN"
	case CapPerfmon:
		return "CAP_PERFMON"
	case CapBPF:
		return "CAP_BPF"
	case CapCheckpointRestore:
		return "CAP_CHECKPOINT_RESTORE"
	}
	return "capability " + strconv.Itoa(int(c))
}

// Capabilities are those in effect for a process.
type Capabilities uint64

// ReadCapabilities returns those of this process.
func ReadCapabilities() (Capabilities, error) {
	status, err := os.ReadFile("/proc/self/status")
	if errors.Is(err, fs.ErrNotExist) {
		return 0, errors.New("read the capabilities of this process: there is no /proc/self/status; mount /proc (mount -t proc proc /proc)")
	}
	if err != nil {
		return 0, fmt.Errorf("read the capabilities: %w", err)
	}
	bits, err := strconv.ParseUint(statusField(string(status), "CapEff"), 16, 64)
	if err != nil {
		return 0, fmt.Errorf("read the capabilities: %w", err)
	}
	return Capabilities(bits), nil
}

// Has reports whether a capability is in effect. CAP_SYS_ADMIN includes those that were split off it in Linux 5.8 and 5.9.
func (c Capabilities) Has(want Capability) bool {
	switch want {
	case CapPerfmon, CapBPF, CapCheckpointRestore:
		return c&(1<<want|1<<CapSysAdmin) != 0
	}
	return c&(1<<want) != 0
}
