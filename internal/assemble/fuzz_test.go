package assemble

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"testing"

	"wprof/format"
	"wprof/internal/spool"
	"wprof/test/events"
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
		f.Add(raw[(spool.BeginningBytes+int(binary.LittleEndian.Uint32(raw[8:]))+7)&^7:])
	}
	beginning := spoolBeginning(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = append(bytes.Clone(beginning), raw...)
		mend(raw)
		s, err := spool.Read(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if _, err := Finalise(s, format.NewWriter(&out, format.WriterOptions{}), textOptions()); err != nil {
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
	le, crc := binary.LittleEndian, crc32.MakeTable(crc32.Castagnoli)
	for at := 0; at+spool.BeginningBytes <= len(raw); {
		b := raw[at:]
		if string(b[:4]) != "WSPL" {
			at += 8
			continue
		}
		length := int(le.Uint32(b[8:])) % (len(b) - spool.BeginningBytes + 1)
		b[7] = 0 // a small number of the ring
		le.PutUint32(b[8:], uint32(length))
		le.PutUint32(b[12:], crc32.Checksum(b[spool.BeginningBytes:][:length], crc))
		le.PutUint32(b[24:], 1)
		le.PutUint32(b[28:], crc32.Checksum(b[:28], crc))
		at += spool.BeginningBytes + (length+7)&^7
	}
}

// Whichever byte of a spool is another one, the stream is sound, has no event that the whole one has not, and reports what it lacks.
func TestAnyFlippedByteLeavesWhatIsWhole(t *testing.T) {
	for _, file := range []string{"testdata/generations.spool", "testdata/samples-generations.spool", "testdata/every-record.spool"} {
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
	whole, err := eventsOf(raw)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(raw); i += len(raw) / race.Runs(len(raw)) {
		broken := bytes.Clone(raw)
		broken[i] ^= 0x41
		left, err := eventsOf(broken)
		if err != nil {
			t.Errorf("byte %d: %v; want what is left", i, err)
		} else if wrong := left.Within(whole); wrong != "" {
			t.Errorf("byte %d: %s", i, wrong)
		}
	}
}

// eventsOf finalises a spool.
func eventsOf(raw []byte) (*events.Contents, error) {
	s, err := spool.Read(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if _, err := Finalise(s, format.NewWriter(&out, format.WriterOptions{}), textOptions()); err != nil {
		return nil, err
	}
	return events.Of(out.Bytes())
}
