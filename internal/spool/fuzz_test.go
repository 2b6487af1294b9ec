package spool

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"

	"wprof/format"
	"wprof/test/race"
)

// FuzzFinalise reads anything as a spool. Whatever it is, the stream that comes of it is sound.
func FuzzFinalise(f *testing.F) {
	files, err := filepath.Glob("testdata/*.spool")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		raw, err := os.ReadFile(spoolFile(f, string(text)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw[chunkHeaderSize+padded(int(binary.LittleEndian.Uint32(raw[8:]))):])
	}
	beginning := spoolBeginning(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = append(bytes.Clone(beginning), raw...)
		mend(raw)
		s, err := read(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if _, err := s.Finalise(format.NewWriter(&out, format.WriterOptions{}), textOptions()); err != nil {
			return
		}
		r, err := format.NewReader(bytes.NewReader(out.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for {
			if _, err := r.Next(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if d := r.Damage(); d != nil {
			t.Errorf("the stream is damaged: %+v", *d)
		}
	})
}

// FuzzChunks reads payloads of chunks that are read as a whole, and headers, without checksums in the way.
func FuzzChunks(f *testing.F) {
	f.Add(spoolBeginning(f)[chunkHeaderSize:])
	tail, err := appendTail(nil, 5, &Tail{Close: 9, Losses: []Loss{{CPU: 1, Kind: format.KindSwitch, Cause: format.CauseRing, Count: 3}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(tail)
	f.Fuzz(func(t *testing.T, b []byte) {
		if g, err := parseGeneration(b); err == nil && (g.rings > maxRings || g.session == nil) {
			t.Errorf("got %+v", g)
		}
		if _, tail, err := parseTail(b); err == nil && len(tail.Losses)*lossBytes > len(b) {
			t.Errorf("got %d losses of %d bytes", len(tail.Losses), len(b))
		}
		_, _ = parseChunkHeader(b)
	})
}

// spoolBeginning is the first chunk of a spool with two rings.
func spoolBeginning(f *testing.F) []byte {
	raw, err := os.ReadFile(spoolFile(f, "source 1 1000000\nspool rings=2 recorder=9 cpus=2\n"))
	if err != nil {
		f.Fatal(err)
	}
	return raw
}

// mend makes every checksum and every recording's number right, so that the fuzzer gets beyond them.
func mend(raw []byte) {
	for at := 0; at+chunkHeaderSize <= len(raw); {
		b := raw[at:]
		if string(b[:4]) != chunkMagic {
			at += 8
			continue
		}
		length := int(binary.LittleEndian.Uint32(b[8:])) % (len(b) - chunkHeaderSize + 1)
		h := chunkHeader{
			typ: chunkType(b[4]), flags: b[5], ring: uint16(b[6]), length: uint32(length), recording: 1,
			crc: checksum(b[chunkHeaderSize:][:length]), position: binary.LittleEndian.Uint64(b[16:]),
		}
		h.put(b)
		at += chunkHeaderSize + padded(length)
	}
}

func TestAnyFlippedByteLeavesASoundStream(t *testing.T) {
	for _, file := range []string{"testdata/generations.spool", "testdata/samples-generations.spool"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		flipEveryByte(t, string(text))
	}
}

func flipEveryByte(t *testing.T, text string) {
	raw, err := os.ReadFile(spoolFile(t, text))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(raw); i += len(raw) / race.Runs(len(raw)) {
		broken := bytes.Clone(raw)
		broken[i] ^= 0x41
		s, err := read(bytes.NewReader(broken), int64(len(broken)))
		if err != nil {
			t.Errorf("byte %d: %v; want what is left", i, err)
			continue
		}
		var out bytes.Buffer
		if _, err := s.Finalise(format.NewWriter(&out, format.WriterOptions{}), textOptions()); err != nil {
			t.Errorf("byte %d: %v", i, err)
			continue
		}
		checkStream(t, out.Bytes())
	}
}
