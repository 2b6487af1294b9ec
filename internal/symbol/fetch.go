package symbol

import (
	"io"

	"wprof/format"
	"wprof/internal/dwarfline"
)

// tryFetched reads a module's file from another machine, as try does.
func (r *Resolver) tryFetched(m *format.Module, s *fileSearch) *loaded {
	if r.options.Fetch == nil || len(m.BuildId) == 0 {
		return nil
	}
	return r.try(&candidate{check: sameBuildID(m), fetched: true, open: func() (io.ReaderAt, int64, func(), error) {
		return r.options.Fetch(m.BuildId, false)
	}}, s)
}

// fetchDebug gives a stripped file the symbols of its debug file from another machine. It reports whether it did.
func (r *Resolver) fetchDebug(l *loaded) bool {
	debug, done := r.fetchDebugFile(l.file.buildID, func(debug *File) bool { return l.file.useDebug(debug) == nil })
	if debug == nil {
		return false
	}
	l.close = append(l.close, done)
	table, err := l.file.Table()
	if err != nil {
		return false
	}
	l.table = table
	return true
}

// fetchDebugFile opens the debug file of a build-id from another machine, and returns what closes it; nil: there is none that is usable.
func (r *Resolver) fetchDebugFile(buildID []byte, usable func(*File) bool) (debug *File, done func()) {
	if r.options.Fetch == nil || len(buildID) == 0 {
		return nil, nil
	}
	in, size, done, err := r.options.Fetch(buildID, true)
	if err != nil {
		return nil, nil
	}
	if done == nil {
		done = func() {}
	}
	if f, err := Open(in, size); err == nil && usable(f) {
		return f, done
	}
	done()
	return nil, nil
}

// fetchImage opens a supplementary debug file from another machine.
func (r *Resolver) fetchImage(buildID []byte) (*dwarfline.Image, func(), error) {
	f, done := r.fetchDebugFile(buildID, func(*File) bool { return true })
	if f == nil {
		return nil, nil, errNoFile
	}
	return f.image(""), done, nil
}
