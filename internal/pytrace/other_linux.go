//go:build linux && !amd64

package pytrace

import (
	"errors"
	"time"
)

// StartWithin is how long the agent may take to start.
const StartWithin = 2 * time.Second

// ErrNoPython: the process has no interpreter whose functions are exported.
var ErrNoPython = errors.New("it has no Python interpreter that exports its functions")

// Process is a process whose calls are traced. On this machine there are none.
type Process struct{ PID int }

// Code is a function.
type Code struct {
	Name, File string
	Line       uint32
}

// Call is a call of a function.
type Call struct {
	TID              uint32
	CPU              uint16
	Start, End, Self int64
	Code             uint32
}

// Pumped is what [Process.Calls] has left.
type Pumped struct {
	Left, Lost uint64
	LeftOut    uint64
	Oldest     int64
}

// RunHelper does nothing.
func RunHelper() {}

// Attach fails.
func Attach(int, Options) (*Process, error) {
	return nil, errors.New("calls of Python are traced on x86-64 only")
}

// AttachLater fails.
func AttachLater(int, Options, func(*Process) error) error {
	return errors.New("calls of Python are traced on x86-64 only")
}

// Begin is a program that will be attached to when it begins. On this machine there are none.
type Begin struct{}

// PrepareBegin fails.
func PrepareBegin(int, Options) (*Begin, error) {
	return nil, errors.New("calls of Python are traced on x86-64 only")
}

// Attach fails.
func (b *Begin) Attach(func(*Process) error) error { return ErrNoPython }

// Beat does nothing, as all that follows.
func (p *Process) Beat()                                      {}
func (p *Process) Started(time.Time) error                    { return nil }
func (p *Process) Open()                                      {}
func (p *Process) Shut()                                      {}
func (p *Process) Retire()                                    {}
func (p *Process) Close(time.Time)                            {}
func (p *Process) Function(uint32) *Code                      { return nil }
func (p *Process) HasFailed() bool                            { return false }
func (p *Process) IsRetired() bool                            { return false }
func (p *Process) Calls(int, int64, func(Call)) Pumped        { return Pumped{} }
func (p *Process) OpenCalls(closed int64, visit func(c Call)) {}
