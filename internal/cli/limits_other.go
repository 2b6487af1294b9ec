//go:build !linux

package cli

// checkLimits checks nothing: elsewhere limits are seldom that small.
func (t Tool) checkLimits() error { return nil }

// CheckAddressSpace checks nothing, for the same reason.
func CheckAddressSpace(uint64) error { return nil }
