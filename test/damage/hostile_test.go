//go:build linux

package damage

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"

	"wprof/format"
	"wprof/test/tools"
)

const (
	mib = 1 << 20
	// hostilePeak is the most memory that a tool may take for any stream.
	hostilePeak = 256 * mib
)

// hostile is a hand-made stream: whatever its parts claim, headers and checksums of its blocks are right, except in parts
// added as raw bytes.
type hostile struct {
	t        testing.TB
	b        []byte
	sequence uint32
}

func newHostile(t testing.TB, s *format.Session) *hostile {
	h := &hostile{t: t}
	return h.section(s)
}

func (h *hostile) section(s *format.Session) *hostile {
	payload, err := format.AppendHeaderPayload(nil, format.CurrentVersion(), s)
	if err != nil {
		h.t.Fatal(err)
	}
	h.sequence = 0
	return h.block(format.BlockHeader{Type: format.BlockHeaderType}, payload, 0)
}

// block appends a block with the next sequence number.
func (h *hostile) block(header format.BlockHeader, payload []byte, level int) *hostile {
	header.Sequence = h.sequence
	h.sequence++
	var err error
	if h.b, err = format.AppendBlock(h.b, header, payload, level); err != nil {
		h.t.Fatal(err)
	}
	return h
}

// claim appends a block whose header is as given, with a checksum that is right.
func (h *hostile) claim(header format.BlockHeader, stored []byte) *hostile {
	header.Sequence, header.CRC = h.sequence, crc32.Checksum(stored, crc32.MakeTable(crc32.Castagnoli))
	h.sequence++
	h.b = append(header.AppendTo(h.b), stored...)
	return h
}

func (h *hostile) define(payload []byte) *hostile {
	return h.block(format.BlockHeader{Type: format.BlockDefinitions}, payload, 1)
}

// events appends an event block of these columns.
func (h *hostile) events(first, last int64, count uint32, times, records []byte) *hostile {
	payload := binary.LittleEndian.AppendUint32(nil, uint32(len(times)))
	payload = append(append(payload, times...), records...)
	return h.block(format.BlockHeader{Type: format.BlockEvents, First: first, Last: last, Earliest: first, Events: count}, payload, 1)
}

// real appends events as a writer would.
func (h *hostile) real(events ...format.Event) *hostile {
	b := format.NewEventBlock()
	for i := range events {
		if err := b.Add(&events[i]); err != nil {
			h.t.Fatal(err)
		}
	}
	return h.block(b.Header(), b.AppendPayload(nil), 1)
}

func (h *hostile) end(e *format.End) []byte {
	payload, err := format.AppendEndPayload(nil, e, 0, uint64(len(h.b)))
	if err != nil {
		h.t.Fatal(err)
	}
	return h.block(format.BlockHeader{Type: format.BlockEnd}, payload, 0).b
}

func (h *hostile) done() []byte { return h.end(&format.End{Last: true, Close: 1 << 40}) }

func plain() *format.Session {
	return &format.Session{Id: 7, Host: "h", BootId: "b", Open: 1000, Close: 1 << 40, Cpus: []*format.Cpu{{Id: 0}, {Id: 1}}}
}

// member is one member of a Definitions message.
func member(b []byte, field protowire.Number, fields ...any) []byte {
	var m []byte
	for i := 0; i+1 < len(fields); i += 2 {
		number := protowire.Number(fields[i].(int))
		switch v := fields[i+1].(type) {
		case int:
			m = protowire.AppendVarint(protowire.AppendTag(m, number, protowire.VarintType), uint64(v))
		case []byte:
			m = protowire.AppendBytes(protowire.AppendTag(m, number, protowire.BytesType), v)
		}
	}
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
}

func compress(t testing.TB, raw []byte) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	return enc.EncodeAll(raw, nil)
}

func exits(n int, at func(i int, e *format.Event)) []format.Event {
	all := make([]format.Event, n)
	for i := range all {
		all[i] = format.Event{Time: 2000 + int64(i), Kind: format.KindExit, Flags: format.FlagSubject, Task: 1}
		at(i, &all[i])
	}
	return all
}

// hostileCase is a hostile stream.
type hostileCase struct {
	make   func(t testing.TB) []byte
	status []int // that each tool may end with; 0 and 4 if it is nil
	// outputs are the tools that read it outside the soak; nil: all. They are for millions of definitions that no event names,
	// which all tools read alike.
	outputs []string
}

// takes reports whether the stream goes through a variant outside the soak: half of the streams are read from files and half
// from pipes.
func (c *hostileCase) takes(v *variant, pipe bool) bool {
	if v.hasTwin() && v.pipe != pipe {
		return false
	}
	flag := ""
	if v.tool == "wprof-info" && len(v.args) > 0 {
		flag = v.args[0]
	}
	return c.outputs == nil || slices.Contains(c.outputs, strings.TrimSpace(v.tool+" "+flag))
}

func hostileCases() map[string]hostileCase {
	longest := bytes.Repeat([]byte{0xff}, 9)
	longest = append(longest, 1) // the largest varint
	return map[string]hostileCase{
		"block longer than the file": {make: func(t testing.TB) []byte {
			return newHostile(t, plain()).claim(format.BlockHeader{Type: format.BlockEvents, Stored: 16 * mib, Raw: 16 * mib}, make([]byte, 100)).b
		}, status: []int{4}},
		"block of 16 MiB and a byte": {make: func(t testing.TB) []byte {
			return newHostile(t, plain()).claim(format.BlockHeader{Type: 77, Stored: 16*mib + 1, Raw: 16*mib + 1}, make([]byte, 16*mib+1)).done()
		}, status: []int{4}},
		"block of exactly 16 MiB": {make: func(t testing.TB) []byte {
			return newHostile(t, plain()).block(format.BlockHeader{Type: 77}, make([]byte, 16*mib), 0).done()
		}},
		"packed block of exactly 16 MiB": {make: func(t testing.TB) []byte {
			return newHostile(t, plain()).block(format.BlockHeader{Type: 77}, make([]byte, 16*mib), 1).done()
		}},
		"zstd bombs whose header lies": {make: func(t testing.TB) []byte {
			bomb := compress(t, make([]byte, 64*mib))
			h := newHostile(t, plain())
			for range 5 {
				h.claim(format.BlockHeader{Type: format.BlockEvents, Flags: format.BlockZstd, Stored: uint32(len(bomb)), Raw: 16 * mib}, bomb)
				h.claim(format.BlockHeader{Type: format.BlockDefinitions, Flags: format.BlockZstd, Stored: uint32(len(bomb)), Raw: 100}, bomb)
				h.claim(format.BlockHeader{Type: format.BlockDefinitions, Flags: format.BlockZstd, Stored: uint32(len(bomb)), Raw: math.MaxUint32}, bomb)
			}
			return h.done()
		}, status: []int{4}},
		"zstd bombs of 16 MiB": {make: func(t testing.TB) []byte {
			h := newHostile(t, plain())
			for range 5 {
				h.block(format.BlockHeader{Type: format.BlockEvents, First: 1, Last: 1, Events: math.MaxUint32}, make([]byte, 16*mib), 1)
				h.block(format.BlockHeader{Type: format.BlockDefinitions}, make([]byte, 16*mib), 1)
			}
			return h.done()
		}, status: []int{4}},
		"more events than columns": {make: func(t testing.TB) []byte {
			return newHostile(t, plain()).events(2000, 3000, math.MaxUint32, []byte{0}, nil).done()
		}, status: []int{4}},
		"times column longer than the block": {make: func(t testing.TB) []byte {
			payload := []byte{0xff, 0xff, 0xff, 0xff, 1, 2, 3}
			return newHostile(t, plain()).block(format.BlockHeader{Type: format.BlockEvents, First: 1, Last: 1, Events: 1}, payload, 0).done()
		}, status: []int{4}},
		"records of the largest size": {make: func(t testing.TB) []byte {
			return newHostile(t, plain()).events(2000, 3000, 3, []byte{0, 0, 0}, append(bytes.Clone(longest), 1, 1, 1, 0, 0)).done()
		}, status: []int{4}},
		"every field the largest": {make: func(t testing.TB) []byte {
			h := newHostile(t, plain())
			for kind := byte(1); kind < byte(format.MaxKind)+2; kind++ {
				body := []byte{kind, 20}
				for range 16 {
					body = append(body, longest...)
				}
				record := append(protowire.AppendVarint(nil, uint64(len(body))), body...)
				h.events(2000, math.MaxInt64, 1, bytes.Repeat(longest, 20), record)
				h.events(2000, math.MaxInt64, 2, append([]byte{0}, bytes.Repeat(longest, 40)...), bytes.Repeat(record, 2))
			}
			return h.done()
		}},
		"times at both ends of what there is": {make: func(t testing.TB) []byte {
			s := plain()
			s.Open, s.Close, s.RangeStart, s.RangeEnd = math.MinInt64, math.MaxInt64, math.MinInt64, math.MaxInt64
			s.Clocks = []*format.ClockSnapshot{{Monotonic: math.MinInt64, Boottime: math.MaxInt64, Realtime: math.MinInt64}, {Monotonic: math.MaxInt64, Boottime: math.MinInt64, Realtime: math.MaxInt64}}
			h := newHostile(t, s)
			for _, at := range []int64{math.MinInt64, -1, 0, math.MaxInt64} {
				for _, since := range []int64{math.MinInt64, 0, math.MaxInt64} {
					sw := format.Event{Time: at, Kind: format.KindSwitch, Flags: 3 | format.SwitchHasSince, Task: 1, Args: [format.MaxArgs]uint64{2, 1, 120, 120, uint64(since), 1}}
					lost := format.Event{Time: at, Kind: format.KindLost, Flags: 1, CPU: format.AllCPUs}
					lost.Args[format.LostFrom], lost.Args[format.LostCause], lost.Args[format.LostCount] = uint64(since), 1, math.MaxUint64
					wake := format.Event{Time: at, Kind: format.KindWaking, Flags: 3, Task: 1, Args: [format.MaxArgs]uint64{2, 120, math.MaxUint64}}
					h.real(sw, wake, lost, format.Event{Time: at, Kind: format.KindExit, Flags: 1 | format.FlagLate, Own: since, Task: 1}, sw)
				}
			}
			return h.end(&format.End{Last: true, Close: math.MinInt64, Processes: []*format.ProcessTime{{Pid: 1, Ns: math.MaxInt64}, {Pid: 1, Ns: math.MaxInt64}}})
		}},
		"window that closes before it opens": {make: func(t testing.TB) []byte {
			s := plain()
			s.Open, s.Close, s.RangeStart, s.RangeEnd = math.MaxInt64, math.MinInt64+1, math.MaxInt64, math.MinInt64+1
			return newHostile(t, s).real(exits(3, func(int, *format.Event) {})...).done()
		}},
		"definitions with lengths beyond their end": {make: func(t testing.TB) []byte {
			h := newHostile(t, plain())
			for field := byte(1); field < 9; field++ {
				for _, inner := range [][]byte{longest, {0xff, 0xff, 0xff, 0xff, 0x7f}, {0x80}, {5}} {
					h.define(append([]byte{field<<3 | 2}, inner...))
					h.define(member(nil, protowire.Number(field), 2, append([]byte{0x12}, inner...), 5, append([]byte{0x0a}, inner...)))
				}
			}
			return h.done()
		}, status: []int{4}},
		"definitions in a circle": {make: func(t testing.TB) []byte {
			var d []byte
			d = member(d, 1, 1, 1, 2, 11, 3, 11, 9, 2)
			d = member(d, 1, 1, 2, 2, 12, 3, 12, 9, 1)
			d = member(d, 1, 1, 3, 2, 13, 3, 13, 6, 13, 9, 3)
			d = member(d, 3, 1, 1, 2, 1)
			d = member(d, 4, 1, 1, 2, []byte{1, 1, 1, 1, 9}, 3, math.MaxUint32)
			h := newHostile(t, plain()).define(d)
			var all []format.Event
			for i := range 300 {
				e := format.Event{Time: 2000 + int64(i), Kind: format.KindSwitch, Flags: 3 | format.SwitchHasStack, CPU: uint32(i % 2), Task: format.TaskID(i%4 + 1)}
				e.Args[format.SwitchNext], e.Args[format.SwitchStack] = uint64((i+1)%4+1), 1
				all = append(all, e)
			}
			return h.real(all...).done()
		}},
		"chain of a hundred thousand tasks": {make: func(t testing.TB) []byte {
			h := newHostile(t, plain())
			for from := 1; from < 100_000; from += 10_000 {
				var d []byte
				for i := from; i < from+10_000; i++ {
					d = member(d, 1, 1, i, 2, i%1000+1, 3, i%1000+1, 9, i+1)
				}
				h.define(d)
			}
			return h.real(exits(5, func(i int, e *format.Event) { e.Task = format.TaskID(1 + i*100) })...).done()
		}},
		"threads without an end": {make: func(t testing.TB) []byte {
			sections, threads := 3, 60_000
			if everyVariant() {
				sections, threads = 6, 100_000
			}
			var all []byte
			for n := range sections {
				s := plain()
				s.Epoch, s.Continues = uint32(n), n > 0
				h := newHostile(t, s)
				d := member(nil, 1, 1, 1, 8, 2)
				events := exits(threads, func(i int, e *format.Event) {
					tid := n*threads + i + 1
					d = member(d, 1, 1, i+2, 2, tid, 3, tid, 7, 5)
					e.Time += int64(n * threads)
					e.Kind, e.Flags, e.Task = format.KindSwitch, 3, format.TaskID(i+2)
					e.Args[format.SwitchNext], e.Args[format.SwitchPrevState] = 1, uint64(format.StateInterruptible)
				})
				all = append(all, h.define(d).real(events...).end(&format.End{Last: n == sections-1, Close: 1 << 40})...)
			}
			return all
		}},
		"a hundred thousand lines of one frame": {make: func(t testing.TB) []byte {
			lines := bytes.Repeat([]byte{5<<3 | 2, 0}, 100_000)
			frame := append(protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1), lines...)
			d := protowire.AppendBytes(protowire.AppendTag(nil, 3, protowire.BytesType), frame)
			d = member(d, 4, 1, 1, 2, bytes.Repeat([]byte{1}, 20))
			return newHostile(t, plain()).define(d).real(samplesOf(2000, func(int) uint64 { return 1 })...).done()
		}},
		"stacks of a hundred thousand frames": {make: func(t testing.TB) []byte {
			d := member(nil, 3, 1, 1, 3, 5)
			d = member(d, 3, 1, 2, 3, 6)
			d = member(d, 4, 1, 1, 2, bytes.Repeat([]byte{1}, 100_000))
			d = member(d, 4, 1, 2, 2, bytes.Repeat([]byte{2}, 100_000))
			return newHostile(t, plain()).define(d).real(samplesOf(500, func(i int) uint64 { return uint64(i%2 + 1) })...).done()
		}},
		"two million empty definitions": {make: func(t testing.TB) []byte {
			h := newHostile(t, plain())
			for _, field := range []byte{3, 2} {
				h.define(bytes.Repeat([]byte{field<<3 | 2, 0}, mib))
			}
			return h.done()
		}, outputs: []string{"wprof-perfetto"}},
		// More than a section may have, and as one message 400 MiB.
		"four million empty definitions in one block": {make: func(t testing.TB) []byte {
			return newHostile(t, plain()).define(bytes.Repeat([]byte{2<<3 | 2, 0}, 4*mib)).done()
		}, outputs: []string{"wprof-filter"}},
		"hundreds of thousands of sources": {make: func(t testing.TB) []byte {
			s := plain()
			for i := range 100_000 {
				s.Sources = append(s.Sources, &format.Source{Id: uint32(i + 1)})
			}
			events := samplesOf(100_000, func(int) uint64 { return 0 })
			for i := range events {
				events[i].Args[format.SampleSource] = uint64(100_000 - i)
			}
			return newHostile(t, s).real(events...).done()
		}},
		"hundreds of thousands of losses and kinds": {make: func(t testing.TB) []byte {
			e := &format.End{Last: true, Close: 1 << 40}
			for i := range uint32(100_000) {
				e.Losses = append(e.Losses, &format.Loss{Cpu: i, Kind: 1, Cause: 1, Count: 1})
				e.Kinds = append(e.Kinds, &format.KindCount{Kind: i + 100, Events: 1})
				e.Processes = append(e.Processes, &format.ProcessTime{Pid: int32(i), Ns: 1})
			}
			return newHostile(t, plain()).end(e)
		}},
		"losses of hundreds of thousands of CPUs": {make: func(t testing.TB) []byte {
			events := make([]format.Event, 50_000)
			for i := range events {
				events[i] = format.Event{Time: 2000 + int64(i), Kind: format.KindLost, Flags: 1, CPU: uint32(i) * 7919}
				events[i].Args[format.LostFrom], events[i].Args[format.LostCount], events[i].Args[format.LostCause] = 2000, 1, uint64(i)
			}
			return newHostile(t, plain()).real(events...).done()
		}},
		"the highest CPUs": {make: func(t testing.TB) []byte {
			var events []format.Event
			for i := range 5_000 {
				cpu := uint32(math.MaxUint32 - 1 - i)
				e := format.Event{Time: 2000 + int64(i), Kind: format.KindSwitch, Flags: 3, CPU: cpu, Task: 1}
				e.Args[format.SwitchNext] = 2
				events = append(events, e, format.Event{Time: 2000 + int64(i), Kind: format.KindStateCPU, Flags: 1, CPU: cpu, Task: 1})
			}
			return newHostile(t, plain()).real(events...).done()
		}},
		"two thousand sections": {make: func(t testing.TB) []byte {
			var all []byte
			for i := range 2_000 {
				s := plain()
				s.Epoch, s.Continues = uint32(i), i > 0
				all = append(all, newHostile(t, s).real(format.Event{Time: 2000 + int64(i), Kind: format.KindExit, Flags: 1, Task: 1}).end(&format.End{Close: 2000 + int64(i), Last: i == 1_999})...)
			}
			return all
		}},
		"headers in headers": {make: func(t testing.TB) []byte {
			h := format.BlockHeader{Type: format.BlockEvents, Stored: 8 * mib, Raw: 8 * mib, CRC: 1}
			return append(newHostile(t, plain()).b, bytes.Repeat(h.AppendTo(nil), 12*mib/headerBytes)...)
		}, status: []int{4}},
		"orphans of a new section each": {make: func(t testing.TB) []byte {
			var all []byte
			for i := range uint32(10_000) {
				h := &hostile{t: t}
				all = append(all, h.block(format.BlockHeader{Type: format.BlockDefinitions, Section: i + 1}, nil, 0).b...)
			}
			return all
		}, status: []int{4}},
		"index that leads nowhere": {make: func(t testing.TB) []byte {
			h := newHostile(t, plain()).real(exits(3, func(int, *format.Event) {})...)
			var x []byte
			for _, offset := range []uint64{math.MaxUint64, 1 << 62, 0} {
				e := protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), offset)
				x = protowire.AppendBytes(protowire.AppendTag(x, 1, protowire.BytesType), e)
			}
			at := len(h.b)
			h.block(format.BlockHeader{Type: format.BlockIndex}, x, 0)
			payload, _ := format.AppendEndPayload(nil, &format.End{Last: true}, uint64(at), uint64(len(h.b)))
			return h.block(format.BlockHeader{Type: format.BlockEnd}, payload, 0).b
		}},
		"footer that leads before the file": {make: func(t testing.TB) []byte {
			h := newHostile(t, plain()).real(exits(3, func(int, *format.Event) {})...)
			payload := format.Footer{Section: 1 << 61, Index: 1 << 60, End: 1 << 59}.AppendTo(nil)
			return h.block(format.BlockHeader{Type: format.BlockEnd}, payload, 0).b
		}},
		"a newer version": {make: func(t testing.TB) []byte {
			payload, _ := format.AppendHeaderPayload(nil, format.Version{Major: 2}, plain())
			return (&hostile{t: t}).block(format.BlockHeader{Type: format.BlockHeaderType}, payload, 0).b
		}, status: []int{3}},
		"a feature that is not known": {make: func(t testing.TB) []byte {
			payload, _ := format.AppendHeaderPayload(nil, format.Version{Major: 1, Features: 1 << 63}, plain())
			return (&hostile{t: t}).block(format.BlockHeader{Type: format.BlockHeaderType}, payload, 0).b
		}, status: []int{3}},
		"a text":  {make: func(testing.TB) []byte { return bytes.Repeat([]byte("no stream\n"), 4*mib) }, status: []int{1}},
		"nothing": {make: func(testing.TB) []byte { return nil }, status: []int{1}},
		"zeros":   {make: func(testing.TB) []byte { return make([]byte, 20*mib) }, status: []int{1}},
	}
}

// samplesOf are samples with stacks.
func samplesOf(n int, stack func(i int) uint64) []format.Event {
	return exits(n, func(i int, e *format.Event) {
		e.Kind = format.KindSample
		e.Args[format.SampleStack], e.Args[format.SampleSource] = stack(i), 1
	})
}

// Whatever a stream claims, every tool ends soon, with little memory, and a status of the manual. In the soak, all streams
// are read from files and from pipes.
func TestHostileStreamsDoNoHarm(t *testing.T) {
	cases := hostileCases()
	for number, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stream := c.make(t)
			file := filepath.Join(t.TempDir(), "hostile.wprof")
			all := variants()
			for i := range all {
				if !everyVariant() && !c.takes(&all[i], number%2 != 0) {
					continue
				}
				got := all[i].swallow(t, file, stream)
				if wrong := c.problem(&got, all[i].tool == "wprof-info" && len(all[i].args) == 0); wrong != "" {
					t.Errorf("%s: %s", &all[i], wrong)
				}
			}
		})
	}
}

// Before the first block, a file may have any number of bytes, and an input that may never end 16 MiB.
func TestBytesBeforeTheFirstBlock(t *testing.T) {
	c := committed(t)
	const many = 17_000_000
	stream := append(make([]byte, many), c.stream...)
	d := damaged{stream: stream, moved: true, kept: c.pieces}
	r := expect(c.pieces, &d)
	file := filepath.Join(t.TempDir(), "behind.wprof")
	all := variants()
	for i := range all {
		w := &all[i]
		if !w.pipe {
			got := w.run(t, tools.Try, file, stream)
			if wrong := w.problem(c, &d, &r, &got); wrong != "" {
				t.Errorf("%s: %s", w, wrong)
			}
			// Several regular files are one stream that ends, too.
			if w.tool != "wprof-info" {
				got = tools.Try(t, hang, nil, w.tool, append(slices.Clone(w.args), file, "testdata/capture.wprof")...)
				if got.Status != 1 || !bytes.Contains(got.Stderr, []byte("do not share a timeline")) {
					t.Errorf("%s with another file: status %d, %s", w, got.Status, got.Stderr)
				}
			}
			continue
		}
		got := w.run(t, tools.Try, file, stream)
		if got.Status != 1 || !bytes.Contains(got.Stderr, []byte("no whole block is in its first 16 MiB")) {
			t.Errorf("%s: status %d, %s", w, got.Status, got.Stderr)
		}
		got = tools.Try(t, hang, nil, w.tool, append(slices.Clone(w.args), "/dev/zero")...)
		if got.Status != 1 || !bytes.Contains(got.Stderr, []byte("no whole block is in its first 16 MiB")) {
			t.Errorf("%s of /dev/zero: status %d, %s", w, got.Status, got.Stderr)
		}
	}
}
