package format_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	. "wprof/format"
	"wprof/format/check"
	"wprof/format/textform"
	"wprof/test/fromtext"
)

func dumped(t testing.TB, stream []byte) (string, error) {
	t.Helper()
	var b bytes.Buffer
	err := textform.Dump(&b, bytes.NewReader(stream))
	return b.String(), err
}

// checked reports what the checker finds in a stream.
func checked(t testing.TB, stream []byte) {
	t.Helper()
	if _, err := check.Stream(bytes.NewReader(stream), func(f check.Finding) { t.Errorf("%d: %s", f.Offset, f.Text) }); err != nil {
		t.Errorf("check: %v", err)
	}
}

func TestEndlessInputIsNoStream(t *testing.T) {
	for name, read := range map[string]func(io.Reader) error{
		"read":  func(r io.Reader) error { _, err := NewReader(r); return err },
		"check": func(r io.Reader) error { _, err := check.Stream(r, func(check.Finding) {}); return err },
		"dump":  func(r io.Reader) error { return textform.Dump(io.Discard, r) },
	} {
		endless := &countingZeros{}
		err := read(endless)
		if !errors.Is(err, ErrNotStream) || !strings.Contains(err.Error(), "no whole block is in its first 16 MiB") || endless.n > 40<<20 {
			t.Errorf("%s endless zeros: got %v after %d bytes, want ErrNotStream soon", name, err, endless.n)
		}
	}
}

type countingZeros struct{ n int64 }

func (z *countingZeros) Read(b []byte) (int, error) {
	clear(b)
	z.n += int64(len(b))
	return len(b), nil
}

func TestDefinitionsSurviveTheText(t *testing.T) {
	for seed := range uint64(10) {
		stream := DefinedStream(t, RandomDefinitions(rand.New(rand.NewPCG(seed, 2)), 60))
		text, err := dumped(t, stream)
		if err != nil {
			t.Fatal(err)
		}
		if again := fromtext.Stream(t, text); !proto.Equal(DefinedBy(t, again, 60), DefinedBy(t, stream, 60)) {
			t.Fatalf("seed %d: the definitions changed on the way", seed)
		} else if second, _ := dumped(t, again); second != text {
			t.Fatalf("seed %d: the text changed on the way", seed)
		}
	}
}

// End.definitions counts as FORMAT.md specifies; --check compares.
func TestEndCountsMembersOfDefinitionBlocks(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b, WriterOptions{})
	clock := &ClockSnapshot{Monotonic: 1}
	if err := w.Begin(&Session{Id: 1, Clocks: []*ClockSnapshot{clock}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Define(&Definitions{
		Tasks: []*Task{{Id: 1}, {Id: 1}}, Modules: []*Module{{Id: 1}}, Frames: []*Frame{{Id: 1, Module: 1, Lines: []*Line{{}, {}}}},
		Stacks: []*Stack{{Id: 1, Frames: []uint32{1, 1}}}, Probes: []*Probe{{Id: 1}}, Clocks: []*ClockSnapshot{clock}, Commands: []*Command{{Id: 1}},
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.EndSection(&End{Clocks: []*ClockSnapshot{clock}, Last: true}); err != nil {
		t.Fatal(err)
	}
	sections, err := ReadSummary(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(sections) != 1 || sections[0].End.Definitions != 8 {
		t.Errorf("got %v, %v, want 8 definitions", sections, err)
	}
	if _, err := check.Stream(bytes.NewReader(b.Bytes()), func(f check.Finding) {
		if !strings.Contains(f.Text, "defined twice") {
			t.Error(f.Text)
		}
	}); err != nil {
		t.Error(err)
	}
}
