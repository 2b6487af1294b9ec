package html

import (
	"cmp"
	"slices"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
)

// pageNames numbers the names in a page in the order of a graph's children: by name, then by kind. 0 is the root of the graph.
type pageNames struct {
	list   []pageName
	number map[pageName]uint32
}

type pageName struct {
	text string
	kind graph.Kind
}

func (n *pageNames) add(text string, kind graph.Kind) {
	name := pageName{text, kind}
	if _, known := n.number[name]; !known {
		n.number[name] = 0
		n.list = append(n.list, name)
	}
}

// assign assigns the numbers; no name can be added after it.
func (n *pageNames) assign() {
	slices.SortFunc(n.list, func(a, b pageName) int {
		return cmp.Or(cmp.Compare(a.text, b.text), cmp.Compare(a.kind, b.kind))
	})
	for i, name := range n.list {
		n.number[name] = uint32(i + 1)
	}
}

// of returns the number of a name; 0 if it was not added, such as the empty note.
func (n *pageNames) of(text string, kind graph.Kind) uint32 { return n.number[pageName{text, kind}] }

// pageUse is what the threads of a page refer to.
type pageUse struct {
	p       *profile.Profile
	v       *graph.View
	threads []*profile.Thread
	frames  []bool
	nodes   []bool
	labels  []bool
	wakes   []bool
	cpus    []uint32          // in order; empty if CPUs were not kept apart
	waits   map[pageName]bool // what threads waited for
}

func usedBy(p *profile.Profile, v *graph.View, only func(*profile.Thread) bool) *pageUse {
	u := &pageUse{
		p: p, v: v, frames: make([]bool, len(p.Frames)), nodes: make([]bool, len(p.Nodes)),
		labels: make([]bool, len(p.Labels)), wakes: make([]bool, len(p.Wakes)), waits: make(map[pageName]bool),
	}
	u.nodes[p.NotSampled] = true
	cpus := make(map[uint32]bool)
	for _, t := range p.Threads {
		if only != nil && !only(t) {
			continue
		}
		u.threads = append(u.threads, t)
		u.labels[t.Label] = true
		for i := range t.Cells {
			c := &t.Cells[i]
			u.nodes[c.Stack], u.labels[c.Label] = true, true
			u.wake(c.Wake)
			u.waits[pageName{graph.WaitRoot(c), graph.WaitKind(c)}] = true
			u.waits[pageName{p.Object(c), graph.WaitKind(c)}] = true
			if c.CPU != profile.NoCPU {
				cpus[c.CPU] = true
			}
		}
	}
	for cpu := range cpus {
		u.cpus = append(u.cpus, cpu)
	}
	slices.Sort(u.cpus)
	u.paths()
	return u
}

func (u *pageUse) wake(id profile.WakeID) {
	for ; id != 0 && !u.wakes[id]; id = u.p.Wakes[id].Before {
		u.wakes[id] = true
		u.nodes[u.p.Wakes[id].Stack], u.labels[u.p.Wakes[id].Label] = true, true
	}
}

// paths adds the callers of all used nodes. A node comes after its parent.
func (u *pageUse) paths() {
	for i := len(u.nodes) - 1; i > 0; i-- {
		if n := &u.p.Nodes[i]; u.nodes[i] {
			u.nodes[n.Parent], u.frames[n.Frame] = true, true
		}
	}
}

// names returns all names that a view of the page can show.
func (u *pageUse) names() *pageNames {
	n := &pageNames{number: make(map[pageName]uint32)}
	for i, used := range u.frames {
		if !used {
			continue
		}
		f := &u.p.Frames[i]
		for name := range u.v.Names(f) {
			n.add(name, graph.KindOf(f))
		}
	}
	for i, used := range u.labels {
		if !used && i > 0 {
			continue
		}
		l := &u.p.Labels[i]
		for _, by := range labelRoots() {
			n.add(graph.RootName(l, by), graph.KindRoot)
		}
	}
	n.add(graph.CPURoot(profile.NoCPU), graph.KindRoot)
	for _, cpu := range u.cpus {
		n.add(graph.CPURoot(cpu), graph.KindRoot)
	}
	for wait := range u.waits {
		if wait.text != "" {
			n.add(wait.text, wait.kind)
		}
	}
	for _, note := range graph.Notes() {
		n.add(note, graph.NoteKind(note))
	}
	n.assign()
	return n
}

// pageTrie is the trie of the stacks of a page by function: addresses in the same function are one node.
type pageTrie struct {
	nodes   []pageNode // 0 is the empty stack
	at      []uint32   // for each node of the profile, the one of nodes that has the same functions
	symbols []pageSymbol
	modules []string // 0 is ""
}

type pageNode struct{ parent, symbol uint32 }

type pageSymbol struct{ name, module uint32 }

func (u *pageUse) trie(names *pageNames) *pageTrie {
	t := &pageTrie{nodes: make([]pageNode, 1), at: make([]uint32, len(u.nodes)), modules: []string{""}}
	symbols := t.symbolsOf(u, names)
	type step struct{ parent, name uint32 }
	index := make(map[step]uint32)
	for _, i := range u.inOrder() {
		n := &u.p.Nodes[i]
		at := t.at[n.Parent]
		for _, symbol := range symbols[n.Frame] {
			key := step{at, t.symbols[symbol].name}
			next, known := index[key]
			if !known {
				next = uint32(len(t.nodes))
				index[key] = next
				t.nodes = append(t.nodes, pageNode{at, symbol})
			}
			at = next
		}
		t.at[i] = at
	}
	return t
}

// inOrder returns the used nodes in the order in which on-CPU time is divided among stacks, which is that of the first ones that look the
// same, used or not: the page divides it in the order of its nodes, and must round in the same way. A node comes after its parent.
func (u *pageUse) inOrder() []profile.NodeID {
	var all []profile.NodeID
	for i, used := range u.nodes {
		if used && i > 0 {
			all = append(all, profile.NodeID(i))
		}
	}
	slices.SortStableFunc(all, func(a, b profile.NodeID) int { return cmp.Compare(u.p.FirstAlike(a), u.p.FirstAlike(b)) })
	return all
}

// symbolsOf returns the symbols of each frame, outermost first.
func (t *pageTrie) symbolsOf(u *pageUse, names *pageNames) [][]uint32 {
	all := make([][]uint32, len(u.frames))
	known := make(map[pageSymbol]uint32)
	modules := map[string]uint32{"": 0}
	for i, used := range u.frames {
		if !used {
			continue
		}
		f := &u.p.Frames[i]
		module, seen := modules[f.Module]
		if !seen {
			module = uint32(len(t.modules))
			modules[f.Module] = module
			t.modules = append(t.modules, f.Module)
		}
		for name := range u.v.Names(f) {
			s := pageSymbol{names.of(name, graph.KindOf(f)), module}
			number, seen := known[s]
			if !seen {
				number = uint32(len(t.symbols))
				known[s] = number
				t.symbols = append(t.symbols, s)
			}
			all[i] = append(all[i], number)
		}
	}
	return all
}
