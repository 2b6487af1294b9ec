package spool

import (
	"errors"
	"io"
	"math"
	"slices"
	"sort"
	"sync"

	"wprof/format"
	"wprof/internal/sideband"
)

// MaxCopyPiece is the most that [Writer.CopyPiece] takes.
const MaxCopyPiece = 256 << 10

const (
	// MaxCopies is how many files a spool can have parts of.
	MaxCopies = math.MaxUint16
	// maxCopyPieces bounds what is kept in memory of a spool's pieces, of 32 bytes each.
	maxCopyPieces = 1 << 18
	// maxFilePieces is more than the pieces of any copied file.
	maxFilePieces = 4096
)

var errNotCopied = errors.New("this part of the file was not copied")

// Copy is a file of code whose symbols are in the spool.
type Copy struct {
	r      io.ReaderAt
	size   int64
	pieces []copyPiece // by offset; they do not overlap
}

type copyPiece struct {
	offset int64 // in the file
	at     int64 // in the spool
	length uint32
	crc    uint32
}

func (p *copyPiece) end() int64 { return p.offset + int64(p.length) }

// Size is that of the whole file.
func (c *Copy) Size() int64 { return c.size }

// ReadAt implements io.ReaderAt. Parts that were not copied cannot be read.
func (c *Copy) ReadAt(b []byte, at int64) (n int, err error) {
	if at < 0 || at >= c.size {
		return 0, io.EOF
	}
	i := sort.Search(len(c.pieces), func(i int) bool { return c.pieces[i].end() > at })
	for ; n < len(b); i++ {
		if i == len(c.pieces) || c.pieces[i].offset > at {
			if at >= c.size {
				return n, io.EOF
			}
			return n, errNotCopied
		}
		p := &c.pieces[i]
		part := b[n:min(int64(len(b)), int64(n)+p.end()-at)]
		got, err := c.r.ReadAt(part, p.at+at-p.offset)
		n += got
		at += int64(got)
		if got < len(part) {
			return n, err
		}
	}
	return n, nil
}

// intact reports whether the checksums of all pieces match.
func (c *Copy) intact() bool {
	var b []byte
	for i := range c.pieces {
		p := &c.pieces[i]
		b = slices.Grow(b[:0], int(p.length))[:p.length]
		if n, _ := c.r.ReadAt(b, p.at); n < len(b) || checksum(b) != p.crc {
			return false
		}
	}
	return true
}

// put adds a piece. One that overlaps another is a repetition, or damage.
func (c *Copy) put(p copyPiece) bool {
	if p.offset < 0 || p.end() < p.offset || len(c.pieces) >= maxFilePieces {
		return false
	}
	i := sort.Search(len(c.pieces), func(i int) bool { return c.pieces[i].end() > p.offset })
	if i < len(c.pieces) && c.pieces[i].offset < p.end() {
		return false
	}
	c.pieces = slices.Insert(c.pieces, i, p)
	return true
}

// CopyPiece appends the part of a file of code that begins at an offset. Each file has a number of its own, and is valid
// when [Writer.CopyFile] has ended it. Both may be called between any two rounds, but not while [Writer.Cutting].
func (w *Writer) CopyPiece(number uint16, offset int64, part []byte) error {
	if err := w.ready(); err != nil {
		return err
	}
	if len(part) > MaxCopyPiece {
		return errors.New("spool a part of a file: it is too long")
	}
	if w.copying == nil || w.copyNumber != number {
		w.copying, w.copyNumber = &Copy{r: w.reader()}, number
	}
	at := w.size + chunkHeaderSize
	w.copying.put(copyPiece{offset: offset, at: at, length: uint32(len(part))})
	w.shared.copies.add(at, at+int64(len(part)))
	return w.chunk(ChunkHeader{Type: chunkCopyPiece, Ring: number, Position: uint64(offset)}, part)
}

// reader may be used by any goroutine; it waits for data that is not in the file yet.
func (w *Writer) reader() io.ReaderAt {
	if w.buffer != nil {
		return w.buffer
	}
	return w.file
}

// CopyFile ends a file whose parts were appended; name identifies its module.
func (w *Writer) CopyFile(number uint16, size int64, name *sideband.Record) (*Copy, error) {
	if err := w.ready(); err != nil {
		return nil, err
	}
	done := w.copying
	w.copying = nil
	if done == nil || w.copyNumber != number {
		done = &Copy{r: w.reader()}
	}
	done.size = size
	w.scratch = sideband.Append(w.scratch[:0], name)
	return done, w.chunk(ChunkHeader{Type: chunkCopyFile, Ring: number, Position: uint64(size)}, w.scratch)
}

// ranges are the parts of a spool that may be read at any time, in order. A live Finalise gives back the disk space around
// them.
type ranges struct {
	mu  sync.Mutex
	all [][2]int64
}

func (r *ranges) add(from, to int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, [2]int64{from, to})
}

// around calls f with what is between the ranges.
func (r *ranges) around(from, to int64, f func(from, to int64)) {
	r.mu.Lock()
	all := r.all
	r.mu.Unlock()
	for i := sort.Search(len(all), func(i int) bool { return all[i][1] > from }); i < len(all) && all[i][0] < to; i++ {
		if all[i][0] > from {
			f(from, all[i][0])
		}
		from = all[i][1]
	}
	if from < to {
		f(from, to)
	}
}

// copies are the copied files of a spool, when reading it.
type copies struct {
	unended map[uint16]*Copy
	files   map[format.ModuleKey]*Copy
	builds  map[format.ModuleKey]*Copy // the first of a build-id
	pieces  int
}

// visit notes a part of a file, or its end.
func (c *copies) visit(scan *Scanner, chunk *Chunk) error {
	if c.files == nil {
		*c = copies{unended: make(map[uint16]*Copy), files: make(map[format.ModuleKey]*Copy), builds: make(map[format.ModuleKey]*Copy)}
	}
	if chunk.Type == chunkCopyPiece {
		c.piece(scan, chunk)
		return nil
	}
	b, err := scan.Read(chunk)
	if err != nil || b == nil {
		return err
	}
	var name sideband.Record
	if _, err := sideband.Next(slices.Clone(b), &name); err != nil {
		return nil
	}
	done := c.unended[chunk.Ring]
	if done == nil || int64(chunk.Position) <= 0 {
		return nil
	}
	delete(c.unended, chunk.Ring)
	done.size = int64(chunk.Position)
	key := moduleNamed(&name).Key()
	c.files[key] = done
	if build, known := key.BuildID(); known && c.builds[build] == nil {
		c.builds[build] = done
	}
	return nil
}

func (c *copies) piece(scan *Scanner, chunk *Chunk) {
	if c.pieces >= maxCopyPieces || chunk.Length > MaxCopyPiece {
		return
	}
	file := c.unended[chunk.Ring]
	if file == nil {
		file = &Copy{r: scan.r}
		c.unended[chunk.Ring] = file
	}
	if file.put(copyPiece{offset: int64(chunk.Position), at: chunk.Payload, length: chunk.Length, crc: chunk.CRC}) {
		c.pieces++
	}
}

// moduleNamed is the module of a copied file, whose state is stored as in [sideband.KindKept].
func moduleNamed(r *sideband.Record) *format.Module {
	return &format.Module{
		Kind: uint32(format.ModuleKind_MODULE_FILE), Path: r.Path, BuildId: r.BuildID,
		Device: r.Device, Inode: r.Inode, Generation: r.Generation, Size: r.Length, Mtime: r.Start, Ctime: r.Count,
	}
}

// Copy returns the copy of a module's file; false: there is none. Of several files with its build-id, the one at its path
// is preferred.
func (s *Spool) Copy(m *format.Module) (*Copy, bool) {
	key := m.Key()
	found := s.copies.files[key]
	if build, known := key.BuildID(); found == nil && known {
		found = s.copies.builds[build]
	}
	if found == nil || !found.intact() {
		return nil, false
	}
	return found, true
}
