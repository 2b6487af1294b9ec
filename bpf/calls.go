//go:build linux

package bpf

import (
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"wprof/internal/ringdata"
	"wprof/internal/syscalls"
)

// Calls configures which system calls are recorded.
type Calls struct {
	Selection syscalls.Selection
	Machine   string // as uname -m names it
}

func (o *Options) recordsCalls() bool { return o.Sources.Has(ringdata.TypeSyscall) }

// setCalls configures the programs of syscall.h, or shrinks their maps if they are not loaded.
func (o *Options) setCalls(spec *ebpf.CollectionSpec) error {
	if !o.recordsCalls() {
		spec.Maps["kept_calls"].MaxEntries = 1
		return nil
	}
	slots, err := callSlots()
	if err != nil {
		return err
	}
	spec.Maps["call_slots"].MaxEntries = slots
	return setVariables(spec, map[string]any{
		"calls_wanted": o.Calls.Selection.Wanted, "other_calls_wanted": o.Calls.Selection.Others,
		"call_shapes": syscalls.Shapes(o.Calls.Machine), "call_slot_mask": slots - 1,
	})
}

// callSlots is a power of two that no thread id reaches.
func callSlots() (uint32, error) {
	const path, most = "/proc/sys/kernel/pid_max", 1 << 22 // PID_MAX_LIMIT
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("read the limit of thread ids: %w", err)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil || n == 0 || n > most {
		return most, nil
	}
	return 1 << bits.Len32(uint32(n)-1), nil
}

// setAttached stores the time from which on calls are seen to begin.
func (t *Tracer) setAttached() error {
	if !t.options.recordsCalls() {
		return nil
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return fmt.Errorf("read the clock: %w", err)
	}
	if err := t.collection.Variables["calls_attached_at"].Set(uint64(now.Nano())); err != nil {
		return fmt.Errorf("set the time of attaching: %w", err)
	}
	return nil
}

// freezeCalls leaves the calls open that have not ended.
func (t *Tracer) freezeCalls(frozen bool) error {
	if !t.options.recordsCalls() {
		return nil
	}
	if err := t.collection.Variables["calls_frozen"].Set(frozen); err != nil {
		return fmt.Errorf("keep the system calls that are open: %w", err)
	}
	return nil
}
