package symbol

import (
	"container/list"
	"errors"

	"wprof/format"
)

const (
	// maxTables bounds the files that are open at a time.
	maxTables = 64
	// maxReasons bounds the modules without names whose reason is kept. When it is reached, all are dropped and read again.
	maxReasons = 64 << 10
)

// reasonKey identifies a module that could not be read. Several paths may have the same build-id.
type reasonKey struct {
	table format.ModuleKey
	path  string
}

// failure is why a module could not be read.
type failure struct {
	why    string
	absent bool // its file is nowhere
}

// tableKey identifies the table of a module. Modules with the same build-id share one.
func tableKey(m *format.Module) format.ModuleKey {
	key := m.Key()
	if build, known := key.BuildID(); known {
		return build
	}
	return key
}

// Why returns why a module has no names. It is empty if the module has names, or was not looked up.
func (r *Resolver) Why(m *format.Module) string {
	switch format.ModuleKind(m.Kind) {
	case format.ModuleKind_MODULE_KERNEL, format.ModuleKind_MODULE_KERNEL_MODULE:
		if r.kernel != nil && r.kernel.Table(string(m.Path)) == nil {
			return errNoSymbols.Error()
		}
		return r.noKernel
	}
	return r.reasons[reasonKey{tableKey(m), string(m.Path)}].why
}

// IsAbsent reports whether a file has no names because it was not found anywhere. It is false if it was not looked up.
func (r *Resolver) IsAbsent(m *format.Module) bool {
	return r.reasons[reasonKey{tableKey(m), string(m.Path)}].absent
}

// load returns a module's table, which it reads if necessary; nil: there are no names.
func (r *Resolver) load(m *format.Module) *loaded {
	switch format.ModuleKind(m.Kind) {
	case format.ModuleKind_MODULE_KERNEL, format.ModuleKind_MODULE_KERNEL_MODULE:
		if string(m.Path) == bpfPrograms {
			return nil // other programs may be at these addresses by now
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
		r.reasons[why] = failure{reason(err), errors.As(err, new(absentError))}
		return nil
	}
	l.key, l.path = key, string(m.Path)
	r.keep(l)
	return l
}

// isStripped reports whether neither the file nor its debug file has a symbol table.
func (l *loaded) isStripped() bool {
	return l.file != nil && !l.file.hasSymbols() && (l.file.debug == nil || !l.file.debug.hasSymbols())
}

// replaceStripped reads another file of the same build-id in place of a stripped one. It keeps the first if the other is
// stripped too.
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

// keep adds a table and drops the least recently used ones that exceed the budget.
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
