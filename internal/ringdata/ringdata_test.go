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
	le.PutUint64(b[HdrTime:], uint64(r.time))
	b[HdrKind], b[HdrFlags] = r.kind, r.flags
	le.PutUint16(b[HdrCPU:], r.cpu)
	le.PutUint32(b[HdrTID:], r.tid)
	switch r.kind {
	case KindSwitch:
		le.PutUint32(b[SwitchNext:], r.other)
		le.PutUint32(b[SwitchPrevState:], r.extra)
		le.PutUint16(b[SwitchPrevPrio:], uint16(r.prio1))
		le.PutUint16(b[SwitchNextPrio:], uint16(r.prio2))
	case KindWaking, KindWakeupNew:
		le.PutUint32(b[WakingWakee:], r.other)
		le.PutUint16(b[WakingTarget:], uint16(r.extra))
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
	return framed(uint64(len(body))|uint64(r.flags)<<flagsShift|uint64(r.kind)<<kindShift|packed|uint64(uint32(r.time))<<32, body)
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
			raw = append(raw, framed(8|Discarded, make([]byte, 8))...)
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
			if len(b) > 0 && len(b) > max(MaxWhole, n) {
				t.Fatalf("%d bytes became %d", n, len(b))
			}
			raw = raw[n:]
		}
	})
}
