package sideband

import (
	"bytes"
	"errors"
	"io"

	"wprof/format"
	"wprof/internal/jitdump"
	"wprof/internal/proc"
)

const (
	// maxDumpRead is how many functions of a dump, and dumpBytes how much of it, are read at a time, so that others do not wait for a large
	// one.
	maxDumpRead = 4096
	dumpBytes   = 8 << 20
	// maxCodes bounds the functions of all dumps: 60 bytes each in the spool, 200 when the stream is written.
	maxCodes = 1 << 17
	// dumpTries is how often the dump of a process that has ended is read again, because it is still being opened.
	dumpTries = 20
)

// isDump reports whether a mapping is that by which a JIT compiler marks its jitdump.
func isDump(r *Record) bool {
	kind, path := classify(r)
	return kind == format.ModuleKind_MODULE_FILE && len(r.BuildID) == 0 && jitdump.IsPath(string(path))
}

// dumpSource is a jitdump, and how far it has been read. Its file is held open, so that it can be read when its process has ended
// or has removed it.
type dumpSource struct {
	mapping    Record
	generation uint64
	file       *Source
	reader     *jitdump.Reader // nil: not opened yet
	places     map[uint64]codePlace
	count      int   // of functions
	read       int64 // when it was read last, CLOCK_MONOTONIC ns
	tries      int
	broken     bool // it is not read any further
}

// codePlace is where a dump has a function that may be moved.
type codePlace struct{ offset, size uint64 }

func newDumpSource(r *Record) *dumpSource {
	d := &dumpSource{mapping: *r, places: make(map[uint64]codePlace)}
	d.mapping.Path = bytes.Clone(r.Path)
	return d
}

// open opens a dump whose file is held by now.
func (d *dumpSource) open(files *Files) {
	d.file = files.dump(&d.mapping)
	if d.file == nil {
		return
	}
	d.generation = d.mapping.Generation
	if known, ok := d.file.generation(); ok {
		d.generation = known
	}
	size, err := d.file.Size()
	if err != nil {
		return
	}
	// The header may not be written yet.
	d.reader, _ = jitdump.NewReader(d.file, size)
}

// readMore appends records of the functions that were added to a dump; began is when the program began. more: there are others.
func (d *dumpSource) readMore(files *Files, began int64, out []byte, limit int) (_ []byte, count int, more bool) {
	if d.reader == nil && !d.broken {
		d.open(files)
	}
	if d.reader == nil || d.broken {
		return out, 0, false
	}
	size, err := d.file.Size()
	if err != nil {
		d.broken = true
		return out, 0, false
	}
	now := proc.Monotonic() // after all that was written
	if d.reader.WasRewritten() {
		clear(d.places)
		if d.reader, err = jitdump.NewReader(d.file, size); err != nil {
			return out, 0, false
		}
	}
	d.reader.Extend(size)
	var c jitdump.Code
	for until := d.reader.Position() + dumpBytes; count < limit; {
		if d.reader.Position() >= until {
			return out, count, true
		}
		found, err := d.reader.Next(&c)
		if err != nil {
			d.broken = !errors.Is(err, io.EOF)
			d.read = now
			return out, count, false
		}
		if !found {
			continue
		}
		if r, ok := d.record(&c, began, now); ok {
			out = Append(out, r)
			count++
		}
	}
	return out, count, true
}

// record makes the record of a function. Times of another clock are replaced by that of the last read.
func (d *dumpSource) record(c *jitdump.Code, began, now int64) (*Record, bool) {
	if c.Moved {
		place, ok := d.places[c.Index]
		if !ok {
			return nil, false
		}
		c.Offset, c.Size = place.offset, min(c.Size, place.size)
	} else {
		d.places[c.Index] = codePlace{c.Offset, c.Size}
	}
	at := c.Time
	if d.reader.ArchTime || at < 0 || at > now {
		at = d.read
	}
	m := &d.mapping
	return &Record{
		Kind: KindCode, Time: max(at, began), PID: m.PID, Start: c.Address, Length: c.Size, Offset: c.Offset,
		Device: m.Device, Inode: m.Inode, Generation: d.generation, Count: d.reader.Began, Path: m.Path,
	}, true
}

// dump returns the file of a jitdump; nil: it was not opened, or not yet.
func (fs *Files) dump(r *Record) *Source {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.byFile[r.file()]; f != nil {
		return f.source
	}
	return nil
}

// generation returns the inode generation of a file that is open.
func (s *Source) generation() (uint64, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.copy != nil {
		return 0, false
	}
	return generationOf(s.file)
}
