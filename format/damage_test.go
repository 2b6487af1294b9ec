package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"wprof/test/race"
)

// numbered makes events that contain their number, so that a test sees which of them arrive.
func numbered(n int) []Event {
	out := make([]Event, n)
	for i := range out {
		out[i] = Event{Time: 1000 + int64(i), Kind: KindExit, Flags: FlagSubject, Task: TaskID(i%50 + 1)}
		out[i].Exit().SetCode(uint64(i))
	}
	return out
}

// where is where blocks stand in a stream.
func blocksOf(t testing.TB, stream []byte) []Block {
	t.Helper()
	var out []Block
	b := NewBlockReader(bytes.NewReader(stream))
	for {
		block, err := b.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		c := *block
		c.Stored, c.Payload = bytes.Clone(c.Stored), bytes.Clone(c.Payload)
		out = append(out, c)
	}
}

// checkDamaged reads a damaged stream of numbered events and checks what must hold for any damage: events in order,
// every event of a block that is whole, a loss wherever numbers are missing.
func checkDamaged(t *testing.T, stream []byte, whole map[uint64]bool) {
	t.Helper()
	events, r, err := readAll(pipe(stream))
	if errors.Is(err, ErrNotStream) && len(whole) == 0 {
		return
	}
	if err != nil {
		t.Fatalf("a damaged stream gives %v", err)
	}
	last, next, lost := int64(0), uint64(0), false
	for _, e := range events {
		if e.Time < last {
			t.Fatalf("an event at %d after one at %d", e.Time, last)
		}
		last = e.Time
		if e.Kind == KindLost {
			lost = true
			continue
		}
		code := e.Exit().Code()
		if code < next || code > next && !lost {
			t.Fatalf("event %d where %d should be, and no loss reported", code, next)
		}
		next, lost = code+1, false
		delete(whole, code)
	}
	if len(whole) > 0 {
		t.Fatalf("%d events of whole blocks are missing", len(whole))
	}
	if r.Damage() == nil {
		t.Fatal("no damage reported")
	}
}

// wholeEvents returns the numbers of the events in blocks of a stream that a change of the bytes from..to leaves alone.
func wholeEvents(t testing.TB, stream []byte) func(from, to int64) map[uint64]bool {
	type placed struct {
		from, to int64
		codes    []uint64
	}
	var all []placed
	for _, b := range blocksOf(t, stream) {
		if b.Header.Type != BlockEvents {
			continue
		}
		p := placed{from: b.Offset, to: b.Offset + BlockHeaderSize + int64(b.Header.Stored)}
		if err := DecodeEvents(&b, func(e *Event) error {
			p.codes = append(p.codes, e.Exit().Code())
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return func(from, to int64) map[uint64]bool {
		whole := map[uint64]bool{}
		for _, p := range all {
			if p.from < to && p.to > from {
				continue
			}
			for _, code := range p.codes {
				whole[code] = true
			}
		}
		return whole
	}
}

func TestTruncatedStreamGivesEveryWholeBlock(t *testing.T) {
	stream := encodeStream(t, numbered(2000), WriterOptions{Level: 1, BlockBytes: 1 << 10})
	cuts := make([]int, 0, 1200)
	for i := 0; i < 1024; i += 1024 / race.Runs(1024) {
		cuts = append(cuts, i)
	}
	for i := 1024; i < len(stream); i += 97 {
		cuts = append(cuts, i)
	}
	whole := wholeEvents(t, stream)
	for _, cut := range append(cuts, len(stream)-1) {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			checkDamaged(t, stream[:cut], whole(int64(cut), math.MaxInt64))
		})
	}
}

func TestTruncatedStreamLosesUpToTheClose(t *testing.T) {
	stream := encodeStream(t, numbered(1000), WriterOptions{BlockBytes: 1 << 10})
	blocks := blocksOf(t, stream)
	cut := blocks[4].Offset
	events, r, err := readAll(bytes.NewReader(stream[:cut]))
	if err != nil {
		t.Fatal(err)
	}
	got := events[len(events)-1]
	before := events[len(events)-2].Time
	if got.Kind != KindLost || got.CPU != AllCPUs || got.Flags != FlagSubject || got.Lost().Cause() != CauseDamage ||
		got.Lost().From() != before || got.Time != r.Session().Close || got.Lost().Count() != 0 {
		t.Errorf("got %+v, want a loss from %d to %d", got, before, r.Session().Close)
	}
	if d := r.Damage(); d == nil || !d.Truncated {
		t.Errorf("got damage %+v, want a truncated stream", d)
	}
}

func TestFlippedBytesLoseTheirBlockOnly(t *testing.T) {
	stream := encodeStream(t, numbered(5000), WriterOptions{Level: 1, BlockBytes: 1 << 10})
	rng := rand.New(rand.NewPCG(7, 7))
	whole := wholeEvents(t, stream)
	for range race.Runs(1000) {
		at := rng.IntN(len(stream))
		bad := bytes.Clone(stream)
		bad[at] ^= 1 << rng.IntN(8)
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			checkDamaged(t, bad, whole(int64(at), int64(at)+1))
		})
	}
}

func TestMissingAndInsertedBytesLoseTheirBlockOnly(t *testing.T) {
	stream := encodeStream(t, numbered(5000), WriterOptions{Level: 1, BlockBytes: 1 << 10})
	rng := rand.New(rand.NewPCG(8, 8))
	whole := wholeEvents(t, stream)
	for range race.Runs(300) {
		at := 300 + rng.IntN(len(stream)-300)
		n := 1 + rng.IntN(2000)
		to := min(at+n, len(stream))
		t.Run(fmt.Sprintf("without %d at %d", n, at), func(t *testing.T) {
			checkDamaged(t, slices.Concat(stream[:at], stream[to:]), whole(int64(at), int64(to)))
		})
		t.Run(fmt.Sprintf("with %d more at %d", n, at), func(t *testing.T) {
			bad := slices.Concat(stream[:at], make([]byte, n), stream[at:])
			if at == len(stream) {
				return
			}
			checkDamaged(t, bad, whole(int64(at), int64(at)+1))
		})
	}
}

func TestMissingBlockBecomesALoss(t *testing.T) {
	stream := encodeStream(t, numbered(2000), WriterOptions{BlockBytes: 1 << 10})
	blocks := blocksOf(t, stream)
	from, to := blocks[3].Offset, blocks[5].Offset
	events, r, err := readAll(pipe(slices.Concat(stream[:from], stream[to:])))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(events, func(e Event) bool { return e.Kind == KindLost })
	if i < 0 {
		t.Fatal("no loss reported")
	}
	if got, want := events[i].Lost().From(), blocks[2].Header.Last; got != want {
		t.Errorf("the loss begins at %d, want %d", got, want)
	}
	if got, want := events[i].Time, blocks[5].Header.First; got != want {
		t.Errorf("the loss ends at %d, want %d", got, want)
	}
	if d := r.Damage(); d == nil || d.Blocks != 2 || d.Holes != 1 || d.Truncated {
		t.Errorf("got damage %+v, want one hole of 2 blocks", d)
	}
}

func TestDamagedIndexLosesNoEvents(t *testing.T) {
	stream := encodeStream(t, numbered(2000), WriterOptions{BlockBytes: 1 << 10})
	blocks := blocksOf(t, stream)
	index := blocks[len(blocks)-2]
	bad := bytes.Clone(stream)
	bad[index.Offset+BlockHeaderSize+5] ^= 4
	events, r, err := readAll(pipe(bad))
	if err != nil {
		t.Fatal(err)
	}
	sameEvents(t, events, numbered(2000))
	if r.Damage() == nil {
		t.Error("no damage reported")
	}
}

func TestSectionWithoutHeaderIsReadWithoutASession(t *testing.T) {
	stream := encodeStream(t, numbered(2000), WriterOptions{BlockBytes: 1 << 10})
	bad := bytes.Clone(stream)
	bad[BlockHeaderSize+20] ^= 1
	for name, in := range map[string]io.Reader{"pipe": pipe(bad), "file": bytes.NewReader(bad)} {
		r, err := NewReader(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.FirstOpen(); got != 1000 {
			t.Errorf("%s: the window opens at %d, want the first event's time, 1000", name, got)
		}
		events, err := rest(r)
		if err != nil {
			t.Fatal(err)
		}
		if events[0].Kind != KindLost || len(events) != 2001 {
			t.Errorf("%s: got %d events, the first of kind %d; want a loss and 2000 events", name, len(events), events[0].Kind)
		}
		if r.End() == nil {
			t.Errorf("%s: the end block was not read", name)
		}
	}
}

// oneSection is a stream of a header block and the given blocks, without index and end.
func oneSection(t testing.TB, v Version, blocks ...[]byte) []byte {
	t.Helper()
	payload, err := AppendHeaderPayload(nil, v, &Session{Open: 1, Close: 1 << 50})
	if err != nil {
		t.Fatal(err)
	}
	out, err := AppendBlock(nil, BlockHeader{Type: BlockHeaderType}, payload, 0)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(append([][]byte{out}, blocks...)...)
}

func block(t testing.TB, h BlockHeader, payload []byte) []byte {
	t.Helper()
	out, err := AppendBlock(nil, h, payload, 0)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// rawBlock returns a block with these header fields, valid or not.
func rawBlock(h BlockHeader, stored []byte) []byte { return append(h.AppendTo(nil), stored...) }

// allocated is how much f allocates in all.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestHostileLengthsAreRefused(t *testing.T) {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 64<<20)
	bomb := enc.EncodeAll(zeros, nil)
	lesser := enc.EncodeAll(zeros[:15<<20], nil)
	small := enc.EncodeAll(zeros[:5000], nil)
	h := BlockHeader{Type: BlockDefinitions, Sequence: 1}
	with := func(flags BlockFlags, stored, raw uint32, body []byte) []byte {
		h := h
		h.Flags, h.Stored, h.Raw, h.CRC = flags, stored, raw, blockCRC(body)
		return rawBlock(h, body)
	}
	for name, bad := range map[string][]byte{
		"16 MiB and a byte":               with(0, MaxBlockBytes+1, MaxBlockBytes+1, make([]byte, 100)),
		"4 GiB raw":                       with(BlockZstd, uint32(len(bomb)), math.MaxUint32, bomb),
		"bomb of 64 MiB says 16":          with(BlockZstd, uint32(len(bomb)), MaxBlockBytes, bomb),
		"bomb of 15 MiB says 100":         with(BlockZstd, uint32(len(lesser)), 100, lesser),
		"raw length too long":             with(BlockZstd, uint32(len(small)), 6000, small),
		"raw length too short":            with(BlockZstd, uint32(len(small)), 4000, small),
		"not zstd":                        with(BlockZstd, 100, 6000, make([]byte, 100)),
		"plain with two lengths":          with(0, 100, 101, make([]byte, 100)),
		"16 MiB promised, 100 bytes":      with(0, MaxBlockBytes, MaxBlockBytes, make([]byte, 100)),
		"definitions that are no message": with(0, 100, 100, bytes.Repeat([]byte{0xff}, 100)),
	} {
		t.Run(name, func(t *testing.T) {
			b := NewEventBlock()
			for _, e := range numbered(10) {
				if err := b.Add(&e); err != nil {
					t.Fatal(err)
				}
			}
			eh := b.Header()
			eh.Sequence = 2
			stream := oneSection(t, CurrentVersion(), bad, block(t, eh, b.AppendPayload(nil)))
			var events []Event
			var r *Reader
			grown := allocated(func() { events, r, err = readAll(pipe(stream)) })
			if err != nil {
				t.Fatal(err)
			}
			// A block of the maximum size, the input and zstd's own tables; much less if the header has a smaller size.
			most := uint64(40 << 20)
			if name == "bomb of 15 MiB says 100" {
				most = 8 << 20
			}
			if grown > most {
				t.Errorf("reading allocated %d MiB", grown>>20)
			}
			if len(events) != 12 || events[0].Kind != KindLost || events[11].Kind != KindLost {
				t.Errorf("got %d events, want a loss, the 10 of the whole block and a loss", len(events))
			}
			if d := r.Damage(); d == nil || d.Detail == "" {
				t.Errorf("got damage %+v", d)
			}
		})
	}
}

func TestMoreEventsThanTheColumnsHold(t *testing.T) {
	b := NewEventBlock()
	for _, e := range numbered(10) {
		if err := b.Add(&e); err != nil {
			t.Fatal(err)
		}
	}
	h := b.Header()
	h.Sequence, h.Events = 1, math.MaxUint32
	events, r, err := readAll(pipe(oneSection(t, CurrentVersion(), block(t, h, b.AppendPayload(nil)))))
	if err != nil {
		t.Fatal(err)
	}
	if len(events) != 11 || events[10].Kind != KindLost || r.Damage() == nil {
		t.Errorf("got %d events and damage %+v, want 10, a loss and damage", len(events), r.Damage())
	}
}

func TestBrokenColumnsNeverPanic(t *testing.T) {
	b := NewEventBlock()
	events := randomEvents(rand.New(rand.NewPCG(3, 3)), 200)
	for i := range events {
		if err := b.Add(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
	good := b.AppendPayload(nil)
	h := b.Header()
	rng := rand.New(rand.NewPCG(4, 4))
	for range race.Runs(20000) {
		bad := bytes.Clone(good)
		for range 1 + rng.IntN(4) {
			bad[rng.IntN(len(bad))] = byte(rng.Uint32())
		}
		bad = bad[:len(bad)-rng.IntN(20)]
		last := h.First
		err := DecodeEvents(&Block{Header: h, Payload: bad}, func(e *Event) error {
			if e.Time < last || e.Time > h.Last {
				t.Fatalf("an event at %d, after %d, in a block up to %d", e.Time, last, h.Last)
			}
			last = e.Time
			return nil
		})
		if err != nil && !errors.Is(err, errMalformed) {
			t.Fatal(err)
		}
	}
}

func TestLargeIdsDoNotAllocate(t *testing.T) {
	var defs []byte
	for i := range uint32(2000) {
		defs = appendTask(defs, &Task{Id: math.MaxUint32 - i*1000, Tid: int32(i + 1)})
	}
	stream := oneSection(t, CurrentVersion(), block(t, BlockHeader{Type: BlockDefinitions, Sequence: 1}, defs))
	var r *Reader
	var err error
	grown := allocated(func() { _, r, err = readAll(pipe(stream)) })
	if err != nil {
		t.Fatal(err)
	}
	if grown > 8<<20 {
		t.Errorf("2000 definitions with large ids allocated %d KiB", grown>>10)
	}
	if task := r.Task(math.MaxUint32 - 1999*1000); task == nil || task.Tid != 2000 {
		t.Errorf("got task %v", task)
	}
}

func TestManyEmptyDefinitionsAreBounded(t *testing.T) {
	race.Skip(t)
	empty := bytes.Repeat(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), nil), MaxBlockBytes/2)
	var blocks [][]byte
	for i := range uint32(3) {
		b, err := AppendBlock(nil, BlockHeader{Type: BlockDefinitions, Sequence: i + 1}, empty, 1)
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, b)
	}
	stream := oneSection(t, CurrentVersion(), blocks...)
	var r *Reader
	var err error
	grown := allocated(func() { _, r, err = readAll(pipe(stream)) })
	if err != nil {
		t.Fatal(err)
	}
	if r.Damage() == nil || grown > 300<<20 {
		t.Errorf("got damage %+v and %d MiB allocated", r.Damage(), grown>>20)
	}
}

func TestFirstDefinitionOfAnIdStays(t *testing.T) {
	defs := appendTask(appendTask(nil, &Task{Id: 1, Tid: 5}), &Task{Id: 1, Tid: 6})
	_, r, err := readAll(pipe(oneSection(t, CurrentVersion(), block(t, BlockHeader{Type: BlockDefinitions, Sequence: 1}, defs))))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Task(1).GetTid(); got != 5 {
		t.Errorf("got tid %d, want 5", got)
	}
	if r.Task(0) != nil || r.Task(2) != nil {
		t.Error("a task that is not defined was found")
	}
}

func TestHostileHeadersDoNotTakeQuadraticTime(t *testing.T) {
	race.Skip(t)
	h := BlockHeader{Type: BlockEvents, Stored: 8 << 20, Raw: 8 << 20, CRC: 1}
	stream := oneSection(t, CurrentVersion(), bytes.Repeat(h.AppendTo(nil), 24<<20/BlockHeaderSize))
	start := time.Now()
	if _, _, err := readAll(pipe(stream)); err != nil {
		t.Fatal(err)
	}
	// Without a bound this takes minutes; with it, less than a second.
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("24 MiB of headers took %v", took)
	}
}

func TestOtherInputIsNoStream(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "text": strings.Repeat("hello\n", 100), "marker": blockMarker} {
		for _, in := range []io.Reader{strings.NewReader(text), pipe([]byte(text))} {
			if _, err := NewReader(in); !errors.Is(err, ErrNotStream) {
				t.Errorf("%s: got %v, want ErrNotStream", name, err)
			}
		}
	}
}

// A file ends, so all of it is searched; a pipe may have no end.
func TestFileIsSearchedForItsFirstBlock(t *testing.T) {
	stream := append(make([]byte, 17_000_000), encodeStream(t, numbered(100), WriterOptions{})...)
	checkDamaged(t, stream[1_000_000:], wholeEvents(t, stream)(0, 0))
	events, r, err := readAll(bytes.NewReader(stream))
	if err != nil || len(events) != 101 || r.Damage() == nil {
		t.Errorf("got %d events and %v, want a loss and 100 events", len(events), err)
	}
	if _, err := NewReader(pipe(stream)); !errors.Is(err, ErrNotStream) {
		t.Errorf("got %v from a pipe, want ErrNotStream", err)
	}
}

func TestFailingReadIsAnError(t *testing.T) {
	stream := encodeStream(t, numbered(2000), WriterOptions{BlockBytes: 1 << 10})
	broken := errors.New("input/output error")
	in := io.MultiReader(bytes.NewReader(stream[:5000]), failingReader{broken})
	events, _, err := readAll(in)
	if !errors.Is(err, broken) || len(events) == 0 {
		t.Errorf("got %d events and %v, want some and the error of the read", len(events), err)
	}
}

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

// newerRecords puts more bytes and more times at the end of each record of an event block.
func newerRecords(t *testing.T, events []Event, flags Flags) []byte {
	b := NewEventBlock()
	for i := range events {
		if err := b.Add(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
	payload := b.AppendPayload(nil)
	n := binary.LittleEndian.Uint32(payload)
	times, records := cursor{b: payload[4 : 4+n]}, cursor{b: payload[4+n:]}
	var newTimes, newRecords []byte
	for records.i < len(records.b) {
		size := int(records.uvarint())
		rec := bytes.Clone(records.b[records.i : records.i+size])
		records.i += size
		for range rec[1] {
			newTimes = protowire.AppendVarint(newTimes, times.uvarint())
		}
		newTimes = protowire.AppendVarint(newTimes, 300)
		rec[1]++
		rec[2] |= byte(flags)
		rec = append(rec, "more"...)
		newRecords = append(protowire.AppendVarint(newRecords, uint64(len(rec))), rec...)
		// An unknown kind follows each.
		newTimes = append(newTimes, 0, 7)
		newRecords = append(newRecords, 4, 200, 2, 1, 9)
	}
	out := binary.LittleEndian.AppendUint32(nil, uint32(len(newTimes)))
	return slices.Concat(out, newTimes, newRecords)
}

func TestNewerMinorReads(t *testing.T) {
	want := numbered(100)
	last := want[99].Time
	v := CurrentVersion()
	v.Minor += 7
	// 0x40 is a flag that this version does not have for exit events.
	events := block(t, BlockHeader{Type: BlockEvents, Sequence: 2, First: 1000, Last: last, Events: 200}, newerRecords(t, want, 0x40))
	unknown := block(t, BlockHeader{Type: 77, Sequence: 1}, []byte("what is this"))
	got, r, err := readAll(pipe(oneSection(t, v, unknown, events)))
	if err != nil {
		t.Fatal(err)
	}
	sameEvents(t, got[:len(got)-1], want) // the last one stands for the missing end block
	if r.Unknown() != 100 {
		t.Errorf("got %d events of unknown kinds, want 100", r.Unknown())
	}
	if d := r.Damage(); d.Holes != 1 || !d.Truncated {
		t.Errorf("got damage %+v, want only the missing end", d)
	}
}

func TestShorterRecordsOfAnOlderMinorRead(t *testing.T) {
	// An exit event without its code, and a lost event with no fields at all.
	times := []byte{0, 5}
	records := []byte{5, byte(KindExit), 1, 1, 3, 9, 5, byte(KindLost), 1, 1, 0, 0}
	payload := slices.Concat(binary.LittleEndian.AppendUint32(nil, uint32(len(times))), times, records)
	b := Block{Header: BlockHeader{Type: BlockEvents, First: 100, Last: 105, Events: 2}, Payload: payload}
	var got []Event
	if err := DecodeEvents(&b, func(e *Event) error { got = append(got, *e); return nil }); err != nil {
		t.Fatal(err)
	}
	want := []Event{
		{Time: 100, Kind: KindExit, Flags: 1, CPU: 2, Task: 9},
		{Time: 105, Kind: KindLost, Flags: 1, CPU: AllCPUs, Args: [MaxArgs]uint64{LostFrom: 105}},
	}
	sameEvents(t, got, want)
}

func TestNewerStreamsAreRefused(t *testing.T) {
	major, feature := CurrentVersion(), CurrentVersion()
	major.Major++
	feature.Features |= 1 << 63
	for name, v := range map[string]Version{"major": major, "feature": feature} {
		stream := oneSection(t, v)
		for _, in := range []io.Reader{pipe(stream), bytes.NewReader(stream)} {
			if _, err := NewReader(in); !errors.Is(err, ErrNewer) {
				t.Errorf("newer %s: got %v, want ErrNewer", name, err)
			}
		}
		if _, err := ReadSummary(bytes.NewReader(stream), int64(len(stream))); !errors.Is(err, ErrNewer) {
			t.Errorf("newer %s: the summary gives %v, want ErrNewer", name, err)
		}
	}
}

func TestBlockThatGoesBackInTimeIsDropped(t *testing.T) {
	var blocks [][]byte
	for i, at := range []int64{1000, 500, 2000} {
		b := NewEventBlock()
		if err := b.Add(&Event{Time: at, Kind: KindFree, Flags: FlagSubject}); err != nil {
			t.Fatal(err)
		}
		h := b.Header()
		h.Sequence = uint32(i + 1)
		blocks = append(blocks, block(t, h, b.AppendPayload(nil)))
	}
	events, r, err := readAll(pipe(oneSection(t, CurrentVersion(), blocks...)))
	if err != nil {
		t.Fatal(err)
	}
	if len(events) != 4 || events[1].Kind != KindLost || events[1].Time != 2000 || events[1].Lost().From() != 1000 || r.Damage() == nil {
		t.Errorf("got %+v, want the events at 1000 and 2000 with a loss between them", events)
	}
}

// Of a block that is repeated, or follows the next one, only events that would go back in time are dropped.
func TestBlocksOutOfTheirPlaceAreRead(t *testing.T) {
	stream := encodeStream(t, numbered(2000), WriterOptions{Level: 1, BlockBytes: 1 << 10})
	blocks := blocksOf(t, stream)
	joined := func(order ...int) (out []byte) {
		for _, i := range order {
			out = append(out, stream[blocks[i].Offset:][:BlockHeaderSize+len(blocks[i].Stored)]...)
		}
		return out
	}
	var order []int
	for i := range blocks {
		order = append(order, i)
	}
	for i := range blocks {
		checkDamaged(t, joined(slices.Insert(slices.Clone(order), i, i)...), wholeEvents(t, stream)(0, 0))
	}
	for i, b := range blocks[1:] {
		swapped := slices.Clone(order)
		swapped[i], swapped[i+1] = i+1, i
		dropped := blocks[i]
		if dropped.Header.Type != BlockEvents || b.Header.Type != BlockEvents {
			dropped = Block{}
		}
		checkDamaged(t, joined(swapped...), wholeEvents(t, stream)(dropped.Offset, dropped.Offset+int64(len(dropped.Stored))))
	}
}

func TestWhatFollowsTheEndIsDamageAndNoLoss(t *testing.T) {
	stream := encodeStream(t, numbered(100), WriterOptions{})
	events, r, err := readAll(pipe(append(stream, "tail -f"...)))
	if err != nil {
		t.Fatal(err)
	}
	sameEvents(t, events, numbered(100))
	if d := r.Damage(); d == nil || d.Bytes != 7 || d.Truncated {
		t.Errorf("got damage %+v, want 7 bytes", d)
	}
}

func TestIndexOfMoreBlocksThanThereAreIsRefused(t *testing.T) {
	empty := bytes.Repeat(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), nil), 1<<20)
	var err error
	if grown := allocated(func() { _, err = ParseIndexPayload(empty, 1000) }); err == nil || grown > 1<<20 {
		t.Errorf("got %v after allocating %d KiB, want an error at once", err, grown>>10)
	}
	var x Index
	for _, offset := range []uint64{0, 72, 100} {
		x.Blocks = append(x.Blocks, &IndexEntry{Offset: offset})
	}
	payload, err := proto.Marshal(&x)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseIndexPayload(payload, 1000); err == nil {
		t.Error("an index with blocks that overlap was taken")
	}
}
