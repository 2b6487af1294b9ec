package symbol

import (
	"cmp"
	"slices"
)

// kernelList is /proc/kallsyms as it is read: "ADDRESS TYPE NAME" and, of a module, "[MODULE]".
type kernelList struct {
	parts map[string]*kernelGather
	last  *kernelGather // of the previous line: lines of one module are consecutive
	count int
	bytes int
	shown bool // some address is not zero: they are not hidden
}

// kernelGather collects the functions of one part of the kernel.
type kernelGather struct {
	name               string
	list               []span // ends are not known yet; rank is the index in the list
	names              []byte
	stext, text, etext uint64
}

func (l *kernelList) line(line []byte) error {
	word, rest := cutWord(line)
	address, ok := parseHex(word)
	kind, rest := cutWord(rest)
	name, module := cutWord(rest)
	if !ok || len(kind) != 1 || len(name) == 0 {
		return nil
	}
	l.count++
	l.shown = l.shown || address != 0
	if !isText(kind[0]) || address == 0 || l.count > maxKernelSymbols || l.bytes+len(name)+1 > maxKernelNames {
		return nil
	}
	part := l.part(module)
	if part == nil {
		return nil
	}
	part.add(address, name)
	l.bytes += len(name) + 1
	return nil
}

// isText reports whether a symbol's type (nm(1)) is that of code, or of a weak symbol: most of these are code.
func isText(kind byte) bool { return kind == 't' || kind == 'T' || kind == 'w' || kind == 'W' }

// part returns the part of the kernel that a line belongs to; nil for a new module when there are too many.
func (l *kernelList) part(module []byte) *kernelGather {
	name := kernelItself
	if inner := withoutBrackets(module); len(inner) < len(module) {
		module = inner
		if l.last != nil && l.last.name == string(module) {
			return l.last
		}
		name = string(module)
	}
	part := l.parts[name]
	if part == nil {
		if len(l.parts) >= maxKernelModules {
			return nil
		}
		part = &kernelGather{name: name}
		l.parts[name] = part
	}
	l.last = part
	return part
}

func (g *kernelGather) add(address uint64, name []byte) {
	switch string(name) {
	case "_text":
		g.text = address
	case "_stext":
		g.stext = address
	case "_etext":
		g.etext = address
	}
	g.list = append(g.list, span{start: address, rank: uint32(len(g.list)), name: uint32(len(g.names))})
	g.names = append(append(g.names, name...), 0)
}

// part makes the table; nil if no function is inside the part's range.
func (g *kernelGather) part(name string, known map[string]KernelModule) *kernelPart {
	slices.SortFunc(g.list, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.rank, b.rank))
	})
	module := g.bounds(name, known)
	kept := g.list[:0]
	for _, s := range g.list {
		if s.start < module.Base || s.start >= module.End {
			continue
		}
		s.start -= module.Base
		if last := len(kept) - 1; last >= 0 {
			if kept[last].start == s.start {
				continue
			}
			kept[last].end = s.start
		}
		kept = append(kept, s)
	}
	if len(kept) == 0 {
		return nil
	}
	kept[len(kept)-1].end = module.End - module.Base
	var n names
	n.addBytes(g.names)
	return &kernelPart{KernelModule: module, table: newTable(kept, innermost, n)}
}

// bounds returns where a part begins and ends.
func (g *kernelGather) bounds(name string, known map[string]KernelModule) KernelModule {
	first, last := g.list[0].start, g.list[len(g.list)-1].start
	m := KernelModule{Name: name, Base: first, End: (last | (kernelPage - 1)) + 1}
	if m.End == 0 {
		m.End-- // the last page of the address space
	}
	if name != kernelItself {
		if k, ok := known[name]; ok && k.End > k.Base {
			return k
		}
		return m
	}
	switch {
	case g.text != 0:
		m.Base = g.text
	case g.stext != 0:
		m.Base = g.stext
	}
	if g.etext > m.Base {
		m.End = g.etext
	}
	return m
}
