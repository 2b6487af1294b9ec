//go:build linux

package bpf

import (
	"slices"

	"github.com/cilium/ebpf/asm"

	"wprof/internal/probe"
)

// Of probe.h.
const (
	knownValue    = 1
	knownBefore   = 2
	watchedKernel = 0x10
)

// watch reads the memory that a breakpoint watches, before all conditions: the value at a hit is that before the next one.
func (c *probeCode) watch(slot int) {
	if !readsWatched(c.of) {
		return
	}
	what := c.of.Watch.Length
	if c.of.Watch.Kernel {
		what |= watchedKernel
	}
	c.add(asm.Mov.Reg(asm.R1, regScratch), asm.LoadMem(asm.R2, regContext, hitAddress, asm.DWord), asm.Mov.Imm(asm.R3, int32(what)),
		asm.Mov.Imm(asm.R4, int32(slot)), asm.Call.Label("probe_watch"))
}

// readsWatched reports whether a program needs the memory that its breakpoint watches.
func readsWatched(p *probe.Program) bool {
	return slices.ContainsFunc(p.Values, func(v probe.Value) bool { return isWatched(&v.Read) })
}

func isWatched(r *probe.Read) bool {
	return r.From.Kind == probe.FromWatched || r.From.Kind == probe.FromBefore
}

// watched loads what probe_watch() has found.
func (c *probeCode) watched(to asm.Register, at, known int, f *probe.From, failed string) {
	c.add(asm.LoadMem(asm.R1, regScratch, watchedKnown, asm.DWord), asm.And.Imm(asm.R1, int32(known)), asm.JEq.Imm(asm.R1, 0, failed),
		asm.LoadMem(to, regScratch, int16(at), asm.DWord))
	c.extend(to, f.Size, f.Signed)
}
