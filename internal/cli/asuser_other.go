//go:build !linux

package cli

// AsUser calls a function: only on Linux can a program have rights that its user does not have.
func AsUser(do func() error) error { return do() }
