//go:build linux && !amd64

package pytrace

import "errors"

// ErrNoTorch: the process has no PyTorch in a library of its own.
var ErrNoTorch = errors.New("it has not loaded libtorch_cpu.so")

// TorchProcess is a process whose operators of PyTorch are recorded. On this machine there are none.
type TorchProcess struct{ *Process }

// Operator is an operator of PyTorch.
type Operator struct {
	TID              uint32
	CPU              uint16
	Scope            uint8
	Start, End, Self int64
	Sequence         int64
	Forward          uint32
	Name, Shapes     string
}

// HasTorch says that it has not.
func HasTorch(int) bool { return false }

// AttachTorch fails.
func AttachTorch(int, bool) (*TorchProcess, error) {
	return nil, errors.New("operators of PyTorch are recorded on x86-64 only")
}

// Operators does nothing, as all that follows.
func (p *TorchProcess) Operators(func(Operator)) (lost uint64)             { return 0 }
func (p *TorchProcess) OpenOperators(closed int64, visit func(o Operator)) {}
