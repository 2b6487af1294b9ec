//go:build !linux

package cli

// checkLimits finds nothing: elsewhere limits are seldom that small.
func (t Tool) checkLimits() error { return nil }

// CheckAddressSpace finds nothing, for the same reason.
func CheckAddressSpace(uint64) error { return nil }
