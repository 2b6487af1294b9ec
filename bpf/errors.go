//go:build linux

package bpf

import "fmt"

// Unsupported is the error for a missing feature of this kernel, or a missing permission of this process. Its text is a sentence.
type Unsupported struct {
	What string
	Err  error
}

func (u *Unsupported) Error() string { return u.What }

func (u *Unsupported) Unwrap() error { return u.Err }

func unsupported(err error, format string, args ...any) error {
	return &Unsupported{What: fmt.Sprintf(format, args...), Err: err}
}
