package symbol

import (
	"container/list"

	"wprof/format"
)

const (
	// maxTables bounds the files that are open at a time.
	maxTables = 64
	// maxReasons bounds the remembered modules without names; beyond it they are read again.
	maxReasons = 64 << 10
)

// reasonKey identifies a failure. Another path may lead to the same build-id.
type reasonKey struct {
	table format.ModuleKey
	path  string
}

// tableKey identifies the table of a module. Modules with the same build-id share one.
func tableKey(m *format.Module) format.ModuleKey {
	key := m.Key()
	if build, known := key.BuildID(); known {
		return build
	}
	return key
}

// Why returns in a few words why a module has no names. It is empty if it has some, or was not looked up.
func (r *Resolver) Why(m *format.Module) string {
	switch format.ModuleKind(m.Kind) {
	case format.ModuleKind_MODULE_KERNEL, format.ModuleKind_MODULE_KERNEL_MODULE:
		if r.kernel != nil && r.kernel.Table(string(m.Path)) == nil {
			return errNoSymbols.Error()
		}
		return r.noNames
	}
	return r.reasons[reasonKey{tableKey(m), string(m.Path)}]
}

// load returns a module's table, and reads it if necessary. It is nil if there are no names.
func (r *Resolver) load(m *format.Module) *loaded {
	switch format.ModuleKind(m.Kind) {
	case format.ModuleKind_MODULE_KERNEL, format.ModuleKind_MODULE_KERNEL_MODULE:
		if string(m.Path) == bpfPrograms {
			return nil // other programs may be at its address by now
		}
		return r.kernelPart(m)
	}
	key := tableKey(m)
	if e := r.tables[key]; e != nil {
		r.recent.MoveToFront(e)
		l := e.Value.(*loaded)
		if l.isStripped() && l.path != string(m.Path) {
			return r.replaceStripped(e, m)
		}
		return l
	}
	why := reasonKey{key, string(m.Path)}
	if _, failed := r.reasons[why]; failed {
		return nil
	}
	l, err := r.read(m)
	if err != nil {
		if len(r.reasons) >= maxReasons {
			clear(r.reasons)
		}
		r.reasons[why] = reason(err)
		return nil
	}
	l.key, l.path = key, string(m.Path)
	r.keep(l)
	return l
}

// isStripped reports whether a file has only its exported symbols.
func (l *loaded) isStripped() bool {
	return l.file != nil && !l.file.hasSymbols() && (l.file.debug == nil || !l.file.debug.hasSymbols())
}

// replaceStripped reads another file of a build-id, if the one that was read is stripped and the other may not be.
func (r *Resolver) replaceStripped(e *list.Element, m *format.Module) *loaded {
	had := e.Value.(*loaded)
	tried := reasonKey{had.key, string(m.Path)}
	if r.stripped[tried] {
		return had
	}
	if len(r.stripped) >= maxReasons {
		clear(r.stripped)
	}
	r.stripped[tried] = true
	l, err := r.read(m)
	if err != nil {
		return had
	}
	if l.isStripped() {
		l.release()
		return had
	}
	delete(r.stripped, tried)
	l.key, l.path = had.key, string(m.Path)
	r.drop(e)
	r.keep(l)
	return l
}

// keep adds a table in front and drops the oldest ones that are over the budget.
func (r *Resolver) keep(l *loaded) {
	r.tables[l.key] = r.recent.PushFront(l)
	r.bytes += l.table.Bytes()
	for r.recent.Len() > 1 && (r.bytes > r.options.TableBytes || r.recent.Len() > maxTables) {
		r.drop(r.recent.Back())
	}
}

func (r *Resolver) drop(e *list.Element) {
	l := r.recent.Remove(e).(*loaded)
	delete(r.tables, l.key)
	r.bytes -= l.table.Bytes()
	l.release()
}

func (l *loaded) release() {
	for _, f := range l.close {
		f()
	}
	l.close = nil
}
