package sideband

import (
	"maps"
	"slices"

	"wprof/format"
)

// appendTo appends records of one time from which empty tables become equal to these. Processes that share mappings after a fork each
// get their own.
func (t *Tables) appendTo(b []byte, at int64) []byte {
	for key, kept := range t.kept {
		r := Record{Kind: KindKept, Time: at, Device: key.device, Inode: key.inode, Generation: key.generation, BuildID: kept.build, Offset: kept.generation}
		kept.state.put(&r)
		b = Append(b, &r)
	}
	numbers := make(map[*format.Module]uint64)
	for _, pid := range slices.Sorted(maps.Keys(t.processes)) {
		b = t.processes[pid].appendTo(b, pid, at, numbers)
	}
	return b
}

func (p *process) appendTo(b []byte, pid uint32, at int64, numbers map[*format.Module]uint64) []byte {
	if p.jit != nil && string(p.jit.Path) == perfMapPath(pid) {
		b = Append(b, &Record{Kind: KindJIT, Time: int64(p.jit.Generation), PID: pid})
	}
	if p.codes != nil && p.codes.pid == pid {
		for i := range p.codes.list {
			c := &p.codes.list[i]
			b = Append(b, &Record{
				Kind: KindCode, Time: at, PID: pid, Start: c.start, Length: c.length, Offset: c.offset,
				Device: c.module.Device, Inode: c.module.Inode, Generation: c.module.Generation, Count: c.module.Mtime, Path: c.module.Path,
			})
		}
	}
	for i := range p.maps.maps {
		m := &p.maps.maps[i]
		number, known := numbers[m.module]
		if !known {
			number = uint64(len(numbers) + 1)
			numbers[m.module] = number
			b = appendModule(b, at, number, m.module)
		}
		b = Append(b, &Record{Kind: KindMapped, Time: at, PID: pid, Start: m.start, Length: m.end - m.start, Offset: m.offset, Count: number})
	}
	if p.exited != 0 {
		b = Append(b, &Record{Kind: KindExit, Time: at, PID: pid})
	}
	return b
}

func appendModule(b []byte, at int64, number uint64, m *format.Module) []byte {
	return Append(b, &Record{
		Kind: KindModule, Time: at, CPU: m.Kind, Count: number, Device: m.Device, Inode: m.Inode, Generation: m.Generation,
		Length: m.Size, Start: m.Mtime, Offset: m.Ctime, BuildID: m.BuildId, Path: m.Path,
	})
}

// number notes the module of a KindModule record.
func (t *Tables) number(r *Record) {
	if len(t.modules) >= maxModules {
		clear(t.modules)
		clear(t.kept)
	}
	if t.numbered == nil || len(t.numbered) >= maxModules {
		t.numbered = make(map[uint64]*format.Module)
	}
	t.numbered[r.Count] = t.intern(&format.Module{
		Kind: r.CPU, Path: r.Path, BuildId: r.BuildID, Device: r.Device, Inode: r.Inode, Generation: r.Generation,
		Size: r.Length, Mtime: r.Start, Ctime: r.Offset,
	})
}

// addMapped inserts the mapping of a KindMapped record.
func (t *Tables) addMapped(r *Record) {
	module := t.numbered[r.Count]
	end := r.Start + r.Length
	if module == nil || r.Length == 0 || end < r.Start {
		return
	}
	t.insert(t.process(r.PID), mapping{start: r.Start, end: end, offset: r.Offset, module: module})
}

// eachModule visits the modules that processes have mapped, and those of their generated code, some repeatedly.
func (t *Tables) eachModule(visit func(*format.Module)) {
	for _, p := range t.processes {
		for i := range p.maps.maps {
			visit(p.maps.maps[i].module)
		}
		if p.jit != nil {
			visit(p.jit)
		}
		if p.codes != nil && len(p.codes.list) > 0 {
			visit(p.codes.list[len(p.codes.list)-1].module)
		}
	}
}
