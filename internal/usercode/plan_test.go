package usercode

import (
	"debug/elf"
	"testing"

	"wprof/internal/probe"
)

func register(offset, size int, signed bool) probe.From {
	return probe.From{Kind: probe.FromRegister, Register: offset, Size: size, Signed: signed}
}

func load(size int, signed bool) probe.Step {
	return probe.Step{Kind: probe.StepLoad, User: true, Size: size, Signed: signed}
}

func add(n int64) probe.Step { return probe.Step{Kind: probe.StepAdd, Number: n} }

func index(register, scale int) probe.Step {
	return probe.Step{Kind: probe.StepAddRegister, Register: register, Scale: scale}
}

// checkPlan checks that the kernel program can execute a plan.
func checkPlan(t testing.TB, m elf.Machine, r *probe.Read) {
	t.Helper()
	isSize := func(n int) bool { return n == 1 || n == 2 || n == 4 || n == 8 }
	isRegister := func(offset int) bool {
		for _, r := range machineOf(m).registers {
			if r.Offset == offset {
				return true
			}
		}
		return false
	}
	if !isSize(r.From.Size) || r.From.Kind == probe.FromRegister && !isRegister(r.From.Register) {
		t.Fatalf("%+v begins with no register", r)
	}
	for _, s := range r.Steps {
		if s.Kind == probe.StepLoad && (!isSize(s.Size) || !s.User) || s.Kind == probe.StepAddRegister && (!isRegister(s.Register) || !isSize(s.Scale) && s.Scale != 16) {
			t.Fatalf("%+v has an impossible step", r)
		}
	}
	if r.Leaf.Kind == probe.LeafNumber && (!isSize(r.Leaf.Size) || r.Leaf.Shift < 0 || r.Leaf.Bits < 0 || r.Leaf.Shift+r.Leaf.Bits > 64) {
		t.Fatalf("%+v is no number", r)
	}
}
