package probeplan

import (
	"slices"

	"wprof/internal/probe"
)

// layout is where values are.
type layout struct {
	fixed   int
	stack   bool
	site    int // place of the number of the function; -1: none
	beganBy int
	unread  int
}

const (
	stackBytes = 16
	siteBytes  = 2
)

func (b *builder) layOut() layout {
	l := layout{site: -1, beganBy: -1, unread: -1, stack: b.all[0].leg.Stack || b.all[len(b.all)-1].leg.Stack}
	if b.counts() {
		l.stack = b.d.Settings.By.Stack
	}
	at, unread := 0, false
	take := func(n int) int {
		at += n
		return at - n
	}
	if l.stack {
		take(stackBytes)
	}
	if len(b.functions) > 1 {
		l.site = take(siteBytes)
	}
	for i := range b.fields {
		f := &b.fields[i]
		f.place = take(b.width(f.leaf()))
		unread = unread || f.canFail() || f.end.role == probe.End
	}
	if b.isSpan() && b.d.Settings.Key[0] != nil && !b.counts() {
		l.beganBy = take(4)
	}
	if unread {
		l.unread = take(4)
	}
	l.fixed = at
	return l
}

func (b *builder) width(leaf *probe.Leaf) int {
	switch {
	case leaf.Kind == probe.LeafNumber:
		return leaf.Size
	case b.counts():
		return probe.MaxKeyText
	}
	return 4
}

// canFail reports whether reading a value may fail.
func (f *field) canFail() bool {
	for i := range f.reads {
		r := &f.reads[i].read
		if r.From.Kind == probe.FromWatched || r.From.Kind == probe.FromBefore {
			return true
		}
		isRead := r.Leaf.Kind != probe.LeafNumber && r.From.Kind != probe.FromComm
		if isRead || slices.ContainsFunc(r.Steps, func(s probe.Step) bool { return s.Kind == probe.StepLoad }) {
			return true
		}
	}
	return false
}
