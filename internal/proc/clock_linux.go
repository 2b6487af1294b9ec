package proc

import (
	"fmt"

	"golang.org/x/sys/unix"

	"wprof/format"
)

// Monotonic is the kernel's own CLOCK_MONOTONIC now, the clock of all events, whatever this process's time namespace adds to
// it.
func Monotonic() int64 {
	now, _ := kernelTime(unix.CLOCK_MONOTONIC) // it fails for unknown clocks only
	return now
}

// kernelTime reads a clock as the kernel itself has it.
func kernelTime(clock int32) (int64, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(clock, &ts); err != nil {
		return 0, fmt.Errorf("read clock %d: %w", clock, err)
	}
	ahead, _ := ownOffsets() // CheckClocks has reported the error
	switch clock {
	case unix.CLOCK_MONOTONIC:
		return ts.Nano() - ahead.monotonic, nil
	case unix.CLOCK_BOOTTIME:
		return ts.Nano() - ahead.boottime, nil
	}
	return ts.Nano(), nil
}

// snapshotTries is how often a clock is read. The tightest reading wins: one that was interrupted half-way would put
// wall-clock times off by as much.
const snapshotTries = 16

// ReadClocks reads several clocks at one moment.
func ReadClocks() (*format.ClockSnapshot, error) {
	boot, width, err := aheadOfMonotonic(unix.CLOCK_BOOTTIME)
	if err != nil {
		return nil, err
	}
	// The two differ by the time spent suspended, which is never a few microseconds: a difference within the
	// reading's own width is none. Exact values matter, because every snapshot is a step in a viewer's time.
	if boot <= width && boot >= -width {
		boot = 0
	}
	real, _, err := aheadOfMonotonic(unix.CLOCK_REALTIME)
	if err != nil {
		return nil, err
	}
	now := Monotonic()
	return &format.ClockSnapshot{Monotonic: now, Boottime: now + boot, Realtime: now + real}, nil
}

// aheadOfMonotonic reads a clock between two readings of CLOCK_MONOTONIC: how far it is ahead of their middle, and
// how far they are apart.
func aheadOfMonotonic(clock int32) (ahead, width int64, err error) {
	width = -1
	for range snapshotTries {
		before := Monotonic()
		now, err := kernelTime(clock)
		if err != nil {
			return 0, 0, err
		}
		if w := Monotonic() - before; width < 0 || w < width {
			width, ahead = w, now-before-w/2
		}
	}
	return ahead, width, nil
}
