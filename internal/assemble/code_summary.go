package assemble

import (
	"cmp"
	"slices"

	"wprof/format"
	"wprof/internal/jitdump"
	"wprof/internal/stacks"
)

// FrameCount counts frames by use: a frame counts once for every sample whose stack holds it.
type FrameCount struct {
	Seen, Named uint64
}

// ModuleFrames counts the frames of one module.
type ModuleFrames struct {
	Path string // [unknown] of addresses that are in no mapping
	Kind format.ModuleKind
	FrameCount
	// Cut are the stacks that end in this module where no thread begins; see [StackCount].
	Cut uint64
	Err error // why it has no names, or not all; nil: not known
}

// StackCount counts samples by what their user stacks look like.
type StackCount struct {
	User uint64 // that have a user part
	// Cut do not reach the function that began their thread, see [stacks.MissesRoot], or look so, see [stacks.LooksCut]: generated
	// code and that of the kernel's vDSO, which have no such functions, are left out of the latter where a stack has nothing else.
	Cut  uint64
	Lost uint64 // samples whose stack is 0 because its definition was lost, or could not be kept
}

// codeSummary is the part of [Summary] that counts frames.
type codeSummary struct {
	user, kernel FrameCount
	stacks       StackCount
	lost         uint64
	retired      []ModuleFrames // of modules that were dropped
}

// tally counts the uses of all stacks of the section.
func (c *code) tally() {
	for key, s := range c.stacks {
		c.tallyStack(key, s)
	}
}

// tallyStack counts the uses of a stack since it was defined.
func (c *code) tallyStack(key stackKey, s *stack) {
	uses := s.uses
	if uses == 0 {
		return
	}
	s.uses = 0
	if key.user != nil {
		c.tallyPart(key.user, s, &c.summary.user, uses)
		c.summary.stacks.User += uses
		if m := c.looksCut(key.user); m != nil {
			c.summary.stacks.Cut += uses
			m.count.cut += uses
		}
	}
	if key.kernel != nil {
		c.tallyPart(key.kernel, s, &c.summary.kernel, uses)
	}
}

func (c *code) tallyPart(p *part, s *stack, sum *FrameCount, uses uint64) {
	for _, i := range p.frames {
		f := &c.frames[i]
		f.module.count.frames += uses
		sum.Seen += uses
		if f.function != "" && f.named <= s.round {
			f.module.count.named += uses
			sum.Named += uses
		}
	}
}

// looksCut returns the module in which a stack looks cut; nil if it does not.
func (c *code) looksCut(p *part) *module {
	ends, cut := stacks.LooksCut(len(p.frames), func(i int) stacks.Frame {
		f := &c.frames[p.frames[i]]
		return stacks.Frame{Function: []byte(f.function), Placed: f.module.definition != nil}
	})
	if !stacks.EndsEarly(p.end, p.cut, len(p.frames), cut && !c.isGenerated(p)) {
		return nil
	}
	ends = stacks.OutermostNative(ends, len(p.frames), func(i int) bool {
		definition := c.frames[p.frames[i]].module.definition
		return definition != nil && definition.IsInterpreted()
	})
	return c.frames[p.frames[ends]].module
}

// isGenerated reports whether a stack has only code of the vDSO or generated code, in which no thread begins.
func (c *code) isGenerated(p *part) bool {
	for _, i := range p.frames {
		m := c.frames[i].module
		if m.definition == nil {
			return false
		}
		switch kind := format.ModuleKind(m.definition.Kind); {
		case kind == format.ModuleKind_MODULE_VDSO, kind == format.ModuleKind_MODULE_JIT, jitdump.IsModule(m.definition):
		default:
			return false
		}
	}
	return true
}

// addTo fills in the counts of stacks in a summary: the modules with the most unnamed frames first.
func (c *code) addTo(s *Summary) {
	c.tally()
	s.Samples = c.out.counts[format.KindSample]
	s.User, s.Kernel, s.Stacks = c.summary.user, c.summary.kernel, c.summary.stacks
	s.Stacks.Lost = c.summary.lost
	s.Generated = c.generatedCode()
	s.Modules = slices.Clone(c.summary.retired)
	for _, m := range c.modules {
		s.Modules = m.appendCount(s.Modules)
	}
	s.Modules = c.nowhere.appendCount(s.Modules)
	slices.SortFunc(s.Modules, worstFirst)
}

// retire keeps the counts of modules that are about to be dropped, those with the most nameless frames if they are many.
func (c *code) retire() {
	for _, m := range c.modules {
		c.summary.retired = m.appendCount(c.summary.retired)
	}
	if len(c.summary.retired) > maxModules {
		slices.SortFunc(c.summary.retired, worstFirst)
		c.summary.retired = c.summary.retired[:maxModules/2]
	}
}

// worstFirst compares by the number of frames without a name.
func worstFirst(a, b ModuleFrames) int {
	return cmp.Or(cmp.Compare(b.Seen-b.Named, a.Seen-a.Named), cmp.Compare(b.Seen, a.Seen), cmp.Compare(a.Path, b.Path))
}

func (m *module) appendCount(to []ModuleFrames) []ModuleFrames {
	n := &m.count
	if n.frames == 0 {
		return to
	}
	t := ModuleFrames{Path: "[unknown]", FrameCount: FrameCount{n.frames, n.named}, Cut: n.cut, Err: n.err}
	if d := m.definition; d != nil {
		t.Path, t.Kind = string(d.Path), format.ModuleKind(d.Kind)
	}
	return append(to, t)
}
