//go:build !linux

package cli

// AsUser calls a function: only Linux gives programs rights that their users do not have.
func AsUser(do func() error) error { return do() }
