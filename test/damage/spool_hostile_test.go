//go:build linux

package damage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wprof/format"
	"wprof/test/tools"
)

// chunkOf is a chunk with these bytes, whose checksums are right; its header is like that of another one.
func chunkOf(like []byte, typ byte, payload []byte) []byte {
	le := binary.LittleEndian
	b := append(bytes.Clone(like[:32]), payload...)
	b[4] = typ
	le.PutUint32(b[8:], uint32(len(payload)))
	le.PutUint32(b[12:], crc32.Checksum(payload, crc32.MakeTable(crc32.Castagnoli)))
	mendHeader(b)
	return append(b, make([]byte, 7-(len(b)+7)%8)...)
}

func mendHeader(b []byte) {
	binary.LittleEndian.PutUint32(b[28:], crc32.Checksum(b[:28], crc32.MakeTable(crc32.Castagnoli)))
}

// with is the spool with one chunk put in place of another.
func (s *spooled) with(c *spoolChunk, chunk []byte) []byte {
	return slices.Concat(s.spool[:c.at], chunk, s.spool[c.end():])
}

// lied is the spool with a few wrong bytes in one chunk, whose checksums are right.
func (s *spooled) lied(rng *rand.Rand) (what string, spool []byte) {
	var c *spoolChunk
	for c == nil || c.typ == kallsyms || c.size == 32 {
		c = &s.chunks[rng.IntN(len(s.chunks))]
	}
	b := bytes.Clone(s.spool[c.at:c.end()])
	from, size := 32, c.size-32
	if rng.IntN(4) == 0 {
		from, size = 5, 19 // flags, ring, length, position
	}
	for range 1 + rng.IntN(4) {
		at := from + rng.IntN(size)
		value := []byte{0, 0xff, 0x7f, 0x80, byte(rng.Uint32())}[rng.IntN(5)]
		for i := range min(1+rng.IntN(8), from+size-at) {
			b[at+i] = value
		}
	}
	what = fmt.Sprintf("a chunk of type %d at byte %d with wrong bytes", c.typ, c.at)
	if length := int(binary.LittleEndian.Uint32(b[8:])); length <= len(b)-32 {
		binary.LittleEndian.PutUint32(b[12:], crc32.Checksum(b[32:][:length], crc32.MakeTable(crc32.Castagnoli)))
	}
	mendHeader(b)
	return what, s.with(c, b)
}

// isOneSentence reports whether a tool has said one thing, beside that files are of another build: a damaged build-id is no file's.
func isOneSentence(stderr []byte) bool {
	lines := bytes.Count(stderr, []byte("\n"))
	if bytes.Contains(stderr, []byte("not used, because it was replaced after the recording or is of another build")) {
		lines--
	}
	return lines == 1
}

// hostileProblem compares how wprof-symbolize ended with what is allowed for a spool with false contents; "": nothing is wrong.
func hostileProblem(got *tools.Result) string {
	if wrong := sane(got, hostilePeak); wrong != "" {
		return wrong
	}
	if got.Status != 1 && got.Status != 4 || !isOneSentence(got.Stderr) {
		return fmt.Sprintf("status %d: %s", got.Status, got.Stderr)
	}
	if got.Status == 1 {
		if len(got.Stdout) > 0 {
			return "status 1, and there is an output"
		}
		return ""
	}
	r, err := format.NewReader(bytes.NewReader(got.Stdout))
	if err != nil {
		return err.Error()
	}
	defer r.Close()
	for last := int64(math.MinInt64); ; {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err.Error()
		}
		if e.Time < last {
			return fmt.Sprintf("an event of %d after one of %d", e.Time, last)
		}
		last = e.Time
	}
	if d := r.Damage(); d != nil {
		return fmt.Sprintf("the result is damaged: %+v", d)
	}
	return ""
}

// Records of a ring are written by kernel programs, but anyone who can write a .part can put any bytes there.
func TestSpoolsWithFalseContentsDoNoHarm(t *testing.T) {
	tools.NeedPrivilege(t)
	s, rng := spoolWithStacks(t).withFewSymbols(t), seeded(t)
	name := filepath.Join(t.TempDir(), "x.part")
	recovered := 0
	lies, emptyLines := 75, 60<<20
	if everyVariant() {
		lies, emptyLines = 1000, 300<<20
	}
	for range lies {
		what, spool := s.lied(rng)
		got := finishSpool(t, tools.Serve, name, spool)
		if wrong := hostileProblem(&got); wrong != "" {
			t.Errorf("%s: %s", what, wrong)
		}
		if got.Status == 4 {
			recovered++
		}
	}
	t.Logf("of %d something was recovered", recovered)
	for what, text := range map[string]func() []byte{
		"no zstd":              func() []byte { return []byte("ffffffff81000000 T _text\n") },
		"nothing":              func() []byte { return nil },
		"zeros without an end": func() []byte { return compress(t, make([]byte, 300<<20)) },
		"lines of no symbol":   func() []byte { return compress(t, bytes.Repeat([]byte("\n"), emptyLines)) },
		"a symbol of 256 MiB": func() []byte {
			return compress(t, append([]byte("ffffffff81000000 T "), bytes.Repeat([]byte("x"), 256<<20)...))
		},
		"five million symbols": func() []byte { return compress(t, symbols(5_000_000, "ffffffff%08x T f%d\n")) },
		"two million modules":  func() []byte { return compress(t, symbols(2_000_000, "ffffffff%08x t f [m%d]\n")) },
		"names of 100 MiB": func() []byte {
			return compress(t, symbols(100_000, "ffffffff%08x T "+strings.Repeat("n", 1000)+"%d\n"))
		},
		"half of what is there": func() []byte { return compress(t, symbols(50_000, "ffffffff%08x T f%d\n"))[:50_000] },
	} {
		got := finishSpool(t, tools.Try, name, s.withSymbols(text()))
		if wrong := hostileProblem(&got); wrong != "" || got.Status != 4 {
			t.Errorf("kallsyms with %s: status %d: %s %s", what, got.Status, got.Stderr, wrong)
		}
		t.Logf("kallsyms with %s: %v of CPU, %d MiB", what, got.CPU, got.PeakBytes>>20)
	}
	modules := []byte(strings.Repeat("m 16384 0 - Live 0xffffffffc0000000\n", 100_000))
	first := s.chunks[slices.IndexFunc(s.chunks, func(c spoolChunk) bool { return c.typ == kallsyms })]
	got := finishSpool(t, tools.Try, name, s.with(&first, bytes.Repeat(chunkOf(s.spool[first.at:], 9, modules), 20)))
	if wrong := hostileProblem(&got); wrong != "" || got.Status != 4 {
		t.Errorf("two million modules: status %d: %s %s", got.Status, got.Stderr, wrong)
	}
}

// pieceBytes is how much of the kernel's symbols stands in a chunk.
const pieceBytes = 64 << 10

// symbols are lines of /proc/kallsyms with an address and a number each.
func symbols(n int, line string) []byte {
	var b []byte
	for i := range n {
		b = fmt.Appendf(b, line, 0x81000000+i*16, i)
	}
	return b
}

// withSymbols is the spool with other bytes in place of the kernel's symbols.
func (s *spooled) withSymbols(text []byte) []byte {
	var out []byte
	written := false
	for i := range s.chunks {
		c := &s.chunks[i]
		if c.typ != kallsyms {
			out = append(out, s.spool[c.at:c.end()]...)
			continue
		}
		for from := 0; !written && from < len(text); from += pieceBytes {
			like := bytes.Clone(s.spool[c.at:][:32])
			binary.LittleEndian.PutUint64(like[16:], uint64(from))
			out = append(out, chunkOf(like, kallsyms, text[from:min(from+pieceBytes, len(text))])...)
		}
		written = true
	}
	return out
}
