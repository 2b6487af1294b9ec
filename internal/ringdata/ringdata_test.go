package ringdata

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

var le = binary.LittleEndian

// record is a whole record as [Decoder.Append] makes it.
type record struct {
	kind, flags  uint8
	cpu          uint16
	tid          uint32
	time         int64
	other, extra uint32 // next, prev_state; wakee, target_cpu
	prio1, prio2 int16
	user, kernel uint64
	size         int
}

func (r *record) whole() []byte {
	b := make([]byte, r.size)
	le.PutUint64(b[HdrTS:], uint64(r.time))
	b[HdrKind], b[HdrFlags] = r.kind, r.flags
	le.PutUint16(b[HdrCPU:], r.cpu)
	le.PutUint32(b[HdrTID:], r.tid)
	switch r.kind {
	case KindSwitch:
		le.PutUint32(b[SwitchNextTID:], r.other)
		le.PutUint32(b[SwitchPrevState:], r.extra)
		le.PutUint16(b[SwitchPrevPrio:], uint16(r.prio1))
		le.PutUint16(b[SwitchNextPrio:], uint16(r.prio2))
	case KindWaking, KindWakeupNew:
		le.PutUint32(b[WakingWakeeTID:], r.other)
		le.PutUint16(b[WakingTargetCPU:], uint16(r.extra))
		le.PutUint16(b[WakingPrio:], uint16(r.prio1))
	case KindReturn:
		le.PutUint64(b[ReturnStacks:], r.user)
		le.PutUint64(b[ReturnStacks+8:], r.kernel)
	}
	return b
}

func framed(header uint64, body []byte) []byte {
	b := append(le.AppendUint64(nil, header), body...)
	return append(b, make([]byte, -len(b)&7)...)
}

// packedForm is what bpf/pack.h and bpf/sched.h write.
func (r *record) packedForm() []byte {
	var body []byte
	switch r.kind {
	case KindSwitch:
		body = le.AppendUint32(nil, r.other)
		body = le.AppendUint16(body, uint16(r.extra))
		body = append(body, byte(r.prio1+1), byte(r.prio2+1))
	case KindWaking, KindWakeupNew:
		body = le.AppendUint32(nil, r.other)
		body = le.AppendUint16(body, uint16(r.extra))
		body = append(body, byte(r.prio1+1), 0)
	case KindReturn:
		body = le.AppendUint64(le.AppendUint64(nil, r.user), r.kernel)
	}
	return framed(uint64(len(body))|uint64(r.flags)<<HeaderFlagsShift|uint64(r.kind)<<HeaderKindShift|HeaderPacked|uint64(uint32(r.time))<<32, body)
}

// history returns n records of one CPU in order, whose times and threads can be packed.
func history(n int) []record {
	rng := rand.New(rand.NewPCG(3, 4))
	time, running := int64(0xffff_ff00), uint32(7) // the lower half of the time overflows soon
	var all []record
	for range n {
		time += rng.Int64N(100)
		r := record{flags: uint8(rng.Uint32()), cpu: 5, tid: running, time: time, other: rng.Uint32N(1 << 22), prio1: int16(rng.IntN(140) - 1), prio2: int16(rng.IntN(140) - 1)}
		switch rng.IntN(4) {
		case 0:
			r.kind, r.size, r.extra = KindSwitch, SwitchSize, rng.Uint32N(1<<16)
			running = r.other
		case 1:
			r.kind, r.size, r.user, r.kernel = KindReturn, ReturnSize, rng.Uint64(), rng.Uint64()
		default:
			r.kind, r.size, r.extra, r.prio2 = KindWaking+uint8(rng.IntN(2)), WakingSize, rng.Uint32N(1<<13), 0
		}
		all = append(all, r)
	}
	return all
}

// decoded takes all records off raw.
func decoded(t *testing.T, d *Decoder, raw []byte) (all [][]byte) {
	t.Helper()
	for len(raw) > 0 {
		b, n := d.Append(nil, raw)
		if n <= 0 {
			t.Fatalf("%d bytes are left, and Append returned %d", len(raw), n)
		}
		if len(b) > 0 {
			all = append(all, b)
		}
		raw = raw[n:]
	}
	return all
}

func TestPackedRecordsUnpackToWholeOnes(t *testing.T) {
	records := history(5000)
	first := record{kind: KindWaking, size: WakingSize, cpu: 5, tid: 7, time: 0xffff_ff00}
	raw := framed(WakingSize, first.whole())
	want := [][]byte{raw}
	for i := range records {
		r := &records[i]
		want = append(want, framed(uint64(r.size), r.whole()))
		switch {
		case i%7 == 0: // whole ones may come between
			raw = append(raw, framed(uint64(r.size), r.whole())...)
		case i%11 == 0:
			raw = append(raw, framed(8|HeaderDiscarded, make([]byte, 8))...)
			fallthrough
		default:
			raw = append(raw, r.packedForm()...)
		}
	}
	got := decoded(t, &Decoder{CPU: 5}, raw)
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Fatalf("%d records became %d, or different ones", len(want), len(got))
	}
}

// Packed records are skipped where nothing gives what they leave out.
func TestPackedRecordsNeedAWholeOne(t *testing.T) {
	records := history(100)
	d := &Decoder{CPU: 5}
	var packedOnly []byte
	for i := range records {
		packedOnly = append(packedOnly, records[i].packedForm()...)
	}
	if got := decoded(t, d, packedOnly); len(got) != 0 {
		t.Errorf("%d records were unpacked without a whole one", len(got))
	}
	sample := framed(WakingSize+8, append((&record{kind: 13, size: WakingSize, tid: 7}).whole(), make([]byte, 8)...))
	if got := decoded(t, d, slices.Concat(sample, packedOnly)); len(got) != 1 {
		t.Errorf("%d records were unpacked after a sample", len(got))
	}
	first := record{kind: KindSwitch, size: SwitchSize, cpu: 5, tid: 3, other: 7, time: 0xffff_ff00}
	whole := framed(SwitchSize, first.whole())
	if got := decoded(t, d, slices.Concat(whole, packedOnly)); len(got) != 101 {
		t.Errorf("%d records were unpacked of 101", len(got))
	}
	d.Lost()
	if got := decoded(t, d, packedOnly); len(got) != 0 {
		t.Errorf("%d records were unpacked after lost bytes", len(got))
	}
}

// withParts puts parts behind a record, as bpf/records.h says.
func withParts(framedRecord []byte, mask uint16, parts ...[]byte) []byte {
	header := le.Uint64(framedRecord)
	b := slices.Clone(framedRecord)
	trailer := le.AppendUint16(nil, mask)
	for _, p := range parts {
		b = append(b, p...)
		trailer = append(trailer, byte(len(p)/8))
	}
	b = append(b, append(trailer, make([]byte, 6-len(parts))...)...)
	le.PutUint64(b, header&^lengthMask|uint64(len(b)-HeaderBytes)|HeaderParts)
	return b
}

// Stacks and waits come out behind the record, and parts that are not known are passed over.
func TestPartsFollowARecord(t *testing.T) {
	whole := record{kind: KindWaking, size: WakingSize, cpu: 5, tid: 7, time: 1000, other: 8}
	next := record{kind: KindWaking, flags: 3, size: WakingSize, cpu: 5, tid: 7, time: 1100, other: 9, extra: 2, prio1: 120}
	stacks, wait, counts, unknown := []byte("userstckkernelst"), []byte("waitidenowner000"), []byte("maskspadvalue000value111"), make([]byte, 24)
	stacked := next
	stacked.flags |= FlagParts
	want := func(stacks, wait, counts []byte) []byte {
		return slices.Concat(framed(uint64(WakingSize+StacksSize+WaitPartSize+len(counts)), stacked.whole()), stacks, wait, counts)
	}
	none := make([]byte, 16)
	for name, form := range map[string][]byte{"packed": next.packedForm(), "whole": framed(WakingSize, next.whole())} {
		for _, c := range []struct{ raw, want []byte }{
			{withParts(form, 1, stacks), want(stacks, none, nil)}, {withParts(form, 1|8, stacks, unknown), want(stacks, none, nil)},
			{withParts(form, 2, wait), want(none, wait, nil)}, {withParts(form, 1|2|8, stacks, wait, unknown), want(stacks, wait, nil)},
			{withParts(form, 4, counts), want(none, none, counts)}, {withParts(form, 2|4|8, wait, counts, unknown), want(none, wait, counts)},
			{withParts(form, 1|2|4, stacks, wait, counts), want(stacks, wait, counts)},
		} {
			d := &Decoder{CPU: 5}
			got := decoded(t, d, slices.Concat(framed(WakingSize, whole.whole()), c.raw))
			if len(got) != 2 || !slices.Equal(got[1], c.want) {
				t.Errorf("%s: %x became %x, want %x", name, c.raw, got[1:], c.want)
			}
		}
		d := &Decoder{CPU: 5}
		got := decoded(t, d, slices.Concat(framed(WakingSize, whole.whole()), withParts(form, 8, unknown)))
		if len(got) != 2 || !slices.Equal(got[1], framed(WakingSize, next.whole())) {
			t.Errorf("%s with a part that is not known became %x", name, got[1:])
		}
		tooLong := withParts(form, 1, stacks)
		tooLong[len(tooLong)-PartsSize+PartsWords] = 200
		for _, raw := range [][]byte{withParts(form, 1, stacks[:8]), withParts(form, 2, unknown), tooLong, withParts(form, 0x7f, stacks), framed(4|HeaderParts, make([]byte, 4))} {
			if b, n := (&Decoder{CPU: 5}).Append(nil, raw); n >= 0 || len(b) > 0 {
				t.Errorf("%s: %x became %x", name, raw, b)
			}
		}
	}
}

func FuzzAppend(f *testing.F) {
	r := history(3)
	f.Add(slices.Concat(framed(SwitchSize, (&record{kind: KindSwitch, size: SwitchSize}).whole()), r[0].packedForm(), r[1].packedForm()))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d := Decoder{}
		for {
			b, n := d.Append(nil, raw)
			if n <= 0 {
				break
			}
			if len(b) > 0 && len(b) > max(MaxWhole, n+16)+partsSize {
				t.Fatalf("%d bytes became %d", n, len(b))
			}
			raw = raw[n:]
		}
	})
}

// Only events count, by whatever record they come or are reported lost.
func TestTallyCountsEventsAndLosses(t *testing.T) {
	record := func(flags uint32, body []byte) []byte { return framed(uint64(flags)|uint64(len(body)), body) }
	whole := func(kind uint8, size int) []byte {
		body := make([]byte, size)
		body[HdrKind] = kind
		return body
	}
	lost := whole(KindLost, LostSize)
	for kind, n := range map[int]uint32{0: 5, KindSwitch: 3, KindSample: 4} { // 0: of definitions
		le.PutUint32(lost[LostCounts+4*kind:], n)
	}
	run := slices.Concat(
		record(HeaderPacked|KindSwitch<<HeaderKindShift, make([]byte, PackedSwitchSize)),
		record(HeaderPacked|KindReturn<<HeaderKindShift, make([]byte, PackedReturnSize)),
		record(HeaderDiscarded, whole(KindWaking, WakingSize)),
		record(0, whole(KindWaking, WakingSize)), record(0, whole(KindStack, 64)), record(0, lost),
	)
	if events, missing := Tally(run); events != 2 || missing != 7 {
		t.Errorf("it counts %d events, %d lost; want 2 and 7", events, missing)
	}
}
