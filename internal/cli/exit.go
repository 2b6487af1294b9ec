package cli

import (
	"fmt"
	"slices"
)

// The exit status is the same in all tools.
const (
	ExitOK      = 0
	ExitFailed  = 1
	ExitUsage   = 2
	ExitNewer   = 3
	ExitDamaged = 4
	ExitLost    = 5
)

type status struct {
	code int
	text string
}

// statuses returns the exit statuses for the manual. The one for lost events is listed only for tools with --fail-on-loss.
func (t Tool) statuses() []status {
	all := []status{
		{ExitOK, "done"},
		{ExitFailed, "failed"},
		{ExitUsage, "wrong usage"},
	}
	if t.ArgsUsage != "" { // it reads streams
		all = append(all, status{ExitNewer, "the input needs a newer version"}, status{ExitDamaged, "the input is damaged or truncated; the output has everything intact"})
	}
	if slices.ContainsFunc(t.flags(), func(f Flag) bool { return f.Name == "fail-on-loss" }) {
		all = append(all, status{ExitLost, "events were lost and --fail-on-loss was given"})
	}
	return all
}

// ExitError is an error with its exit status. Without Err nothing is printed.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Code)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// Usagef is an error of the command line: exit status 2.
func Usagef(format string, a ...any) error { return WithCode(ExitUsage, fmt.Errorf(format, a...)) }

// Failf is a failure: exit status 1.
func Failf(format string, a ...any) error { return WithCode(ExitFailed, fmt.Errorf(format, a...)) }

// WithCode gives an error an exit status. err may be nil: then nothing is printed.
func WithCode(code int, err error) error { return &ExitError{Code: code, Err: err} }
