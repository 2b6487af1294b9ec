package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// maxSymbolsWindow is what unpacking /proc/kallsyms may take; the packing takes less.
const maxSymbolsWindow = 8 << 20

// PackKallsyms packs the text of /proc/kallsyms for [Writer.Kallsyms]. It takes 60 ms of CPU for the 10 MB of a usual
// kernel, which become 3 MB; it can be done before there is a spool.
func PackKallsyms(text io.Reader) ([]byte, error) {
	var packed bytes.Buffer
	pack, err := zstd.NewWriter(&packed, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(maxSymbolsWindow/8))
	if err != nil {
		return nil, fmt.Errorf("pack the kernel's symbols: %w", err)
	}
	_, err = io.Copy(pack, text)
	if err = errors.Join(err, pack.Close()); err != nil {
		return nil, fmt.Errorf("pack the kernel's symbols: %w", err)
	}
	return packed.Bytes(), nil
}

// Kallsyms puts the packed text of /proc/kallsyms into the spool, before the first round.
func (w *Writer) Kallsyms(packed []byte) error {
	if err := w.ready(); err != nil {
		return err
	}
	_, err := (&pieceWriter{w: w, typ: chunkKallsyms}).Write(packed)
	return err
}

// Modules copies the text of /proc/modules into the spool, before the first round.
func (w *Writer) Modules(text []byte) error {
	if err := w.ready(); err != nil {
		return err
	}
	_, err := (&pieceWriter{w: w, typ: chunkModules}).Write(text)
	return err
}

// KernelBuildID puts the kernel's build-id into the spool, before the first round.
func (w *Writer) KernelBuildID(id []byte) error {
	if err := w.ready(); err != nil {
		return err
	}
	_, err := (&pieceWriter{w: w, typ: chunkKernelID}).Write(id)
	return err
}

// Layouts puts the layouts of tracepoints' records into the spool, before the first round.
func (w *Writer) Layouts(encoded []byte) error {
	if err := w.ready(); err != nil {
		return err
	}
	_, err := (&pieceWriter{w: w, typ: chunkLayouts}).Write(encoded)
	return err
}

// pieceWriter writes chunks of one type, whose positions count the bytes before them.
type pieceWriter struct {
	w    *Writer
	typ  ChunkType
	done uint64
}

func (p *pieceWriter) Write(b []byte) (int, error) {
	if err := p.w.ready(); err != nil {
		return 0, err
	}
	n := 0
	for n < len(b) {
		piece := b[n:min(len(b), n+taskChunk)]
		if err := p.w.small(p.typ, p.done, piece); err != nil {
			return n, err
		}
		n += len(piece)
		p.done += uint64(len(piece))
	}
	return n, nil
}

// Kallsyms opens the text of /proc/kallsyms as it was when the recording began; [os.ErrNotExist]: the spool does not have it.
func (s *Spool) Kallsyms() (io.ReadCloser, error) {
	pieces := s.pieces(chunkKallsyms)
	if pieces == nil {
		return nil, os.ErrNotExist
	}
	unpack, err := zstd.NewReader(pieces, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxSymbolsWindow))
	if err != nil {
		return nil, os.ErrNotExist
	}
	return symbolText{io.LimitReader(unpack, maxSymbols), unpack}, nil
}

// maxSymbols is more than any kernel has: what unpacks to more is damage.
const maxSymbols = 128 << 20

type symbolText struct {
	io.Reader
	unpack *zstd.Decoder
}

func (t symbolText) Close() error {
	t.unpack.Close()
	return nil
}

// Modules opens the text of /proc/modules as it was when the recording began; [os.ErrNotExist]: the spool does not have it.
func (s *Spool) Modules() (io.ReadCloser, error) {
	if p := s.pieces(chunkModules); p != nil {
		return io.NopCloser(io.LimitReader(p, maxSmallChunk)), nil
	}
	return nil, os.ErrNotExist
}

// KernelBuildID returns the kernel's build-id; nil: the spool does not have it.
func (s *Spool) KernelBuildID() []byte {
	p := s.pieces(chunkKernelID)
	if p == nil {
		return nil
	}
	id, err := io.ReadAll(io.LimitReader(p, maxBuildID+1))
	if err != nil || len(id) > maxBuildID {
		return nil
	}
	return id
}

// Layouts returns the layouts of tracepoints' records; nil: there are none, or they are damaged.
func (s *Spool) Layouts() []byte {
	p := s.pieces(chunkLayouts)
	if p == nil {
		return nil
	}
	encoded, err := io.ReadAll(io.LimitReader(p, maxLayouts))
	if err != nil {
		return nil
	}
	return encoded
}

// maxLayouts is more than those of all tracepoints of any kernel.
const maxLayouts = 64 << 20

// maxBuildID is the length of the longest build-id.
const maxBuildID = 64

// pieces reads the payloads of all chunks of one type before the first round; nil: there are none.
func (s *Spool) pieces(typ ChunkType) io.Reader {
	limit := s.limit
	if s.live != nil {
		limit = s.live.whole.Load()
	}
	p := &pieceReader{typ: typ, scan: NewScanner(s.r, limit, new(Damage))}
	if err := p.find(); err != nil {
		return nil
	}
	return p
}

type pieceReader struct {
	typ  ChunkType
	scan Scanner
	next uint64 // bytes before the next piece
	rest []byte // of the piece that is being read; belongs to scan
	err  error
}

// find goes to the next piece.
func (p *pieceReader) find() error {
	for {
		c, err := p.scan.Next()
		switch {
		case err != nil:
			return err
		case c.Type == ChunkRound || c.Type == chunkKept:
			return io.EOF
		case c.Type != p.typ || c.Length > taskChunk:
			continue
		}
		b, err := p.scan.Read(&c)
		if err != nil {
			return err
		}
		if b == nil || c.Position != p.next {
			return errors.New("the copy of the kernel's symbols in the spool is damaged")
		}
		p.rest = b
		p.next += uint64(len(b))
		return nil
	}
}

func (p *pieceReader) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		if p.err == nil {
			p.err = p.find()
		}
		if p.err != nil {
			return 0, p.err
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}
