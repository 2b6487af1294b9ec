package assemble

import (
	"cmp"
	"slices"

	"wprof/format"
	"wprof/internal/jitdump"
	"wprof/internal/sideband"
)

// GeneratedCode counts a process's stacks that have frames in generated code.
type GeneratedCode struct {
	PID     uint32
	Name    string   // of the process
	Files   []string // paths of the files whose code it has mapped
	Stacks  uint64   // with frames in generated code
	Unnamed uint64   // of these, stacks in which one of these frames has no name
	Named   uint64   // of these, stacks in which one of these frames has a name
	Cut     uint64   // of these, stacks whose outermost frame is in generated code, where no thread begins
}

const (
	// maxGenerated bounds the processes whose stacks are counted.
	maxGenerated = 1 << 12
	// maxGeneratedFiles bounds the files of one of them.
	maxGeneratedFiles = 256
)

// hasGenerated describes the generated code in a part of a stack.
type hasGenerated struct{ any, unnamed, named, cut bool }

// generatedIn looks for generated code in the frames of a part. In a live stream, code in a module that may have names counts as
// named.
func (c *code) generatedIn(p *part) (g hasGenerated) {
	for i, at := range p.frames {
		f := &c.frames[at]
		if f.module.definition == nil || !isGeneratedCode(f.module.definition) {
			continue
		}
		g.any = true
		unnamed := f.function == "" && (c.queue == nil || !f.module.wanted)
		g.unnamed, g.named = g.unnamed || unnamed, g.named || !unnamed
		g.cut = g.cut || i == 0 && !p.isTooDeep()
	}
	return g
}

// isTooDeep reports whether a part may lack its outermost frames because there are too many. Frame-pointer walks give no other reason
// for a cut.
func (p *part) isTooDeep() bool {
	return p.end == format.StackEnd_STACK_END_DEPTH || p.end == format.StackEnd_STACK_END_UNKNOWN && p.cut
}

func isGeneratedCode(m *format.Module) bool {
	kind := format.ModuleKind(m.Kind)
	if string(m.Path) == sideband.ProbedCode {
		return false
	}
	return kind == format.ModuleKind_MODULE_JIT || kind == format.ModuleKind_MODULE_ANON || jitdump.IsModule(m)
}

// countGenerated counts one use of a stack with generated code.
func (c *code) countGenerated(pid uint32, has hasGenerated) {
	g := c.generated[pid]
	if g == nil {
		if len(c.generated) >= maxGenerated {
			return
		}
		g = &GeneratedCode{PID: pid, Files: c.maps.Files(pid, maxGeneratedFiles)}
		c.generated[pid] = g
	}
	if p := c.out.sched.processes[pid]; p != nil && g.Name != string(p.comm.bytes()) {
		g.Name = string(p.comm.bytes())
	}
	g.Stacks++
	if has.unnamed {
		g.Unnamed++
	}
	if has.named {
		g.Named++
	}
	if has.cut {
		g.Cut++
	}
}

// generatedCode returns the processes with generated code, those with the most unnamed stacks first.
func (c *code) generatedCode() (all []GeneratedCode) {
	for _, g := range c.generated {
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b GeneratedCode) int {
		return cmp.Or(cmp.Compare(b.Unnamed, a.Unnamed), cmp.Compare(b.Cut, a.Cut), cmp.Compare(a.PID, b.PID))
	})
	return all
}
