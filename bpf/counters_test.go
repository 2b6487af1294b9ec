//go:build linux

package bpf

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/cilium/ebpf/asm"

	"wprof/internal/ringdata"
)

// countsPart is a struct rec_counts_part.
type countsPart []byte

// switchCounts are the counts of a switch, if it has some.
func (r record) switchCounts() (c countsPart, ok bool) {
	const at = ringdata.SwitchSize + ringdata.StacksSize + ringdata.WaitPartSize
	if !r.is(ringdata.KindSwitch) || len(r.bytes) < at+ringdata.CountsPartSize {
		return nil, false
	}
	return r.bytes[at:], true
}

func (c countsPart) unknown() uint8 { return c[ringdata.CountsPartUnknown] }
func (c countsPart) scaled() uint8  { return c[ringdata.CountsPartScaled] }
func (c countsPart) value(i int) int64 {
	return int64(binary.NativeEndian.Uint64(c[ringdata.CountsPartValues+8*i:]))
}

// What takes the place of read_counter() says of each counter of a CPU. All but the last ones count half an event in each nanosecond that they
// run, so that each has a count of half the time between two switches.
const (
	alwaysRuns  = iota
	runsHalf    // of the time
	runsLittle  // a sixteenth of it
	countsMuch  // as if 65,536 times as long had passed, of which it ran half
	isReplaced  // every 67 ms by one that begins at 0
	neverRuns   // its place is taken all the time
	isMissing   // it cannot be read
	standsStill // as one of a CPU that was offline
)

// fabricated is the body of a read_counter() that reads no counter; since is on CLOCK_MONOTONIC.
func fabricated(since int64) asm.Instructions {
	const value, enabled, running = 0, 8, 16 // struct bpf_perf_event_value
	store := func(label string, adjust ...asm.Instruction) asm.Instructions {
		all := append(asm.Instructions{asm.Mov.Reg(asm.R1, asm.R0).WithSymbol(label)}, adjust...)
		return append(all, asm.StoreMem(asm.R6, running, asm.R1, asm.DWord), asm.RSh.Imm(asm.R1, 1), asm.StoreMem(asm.R6, value, asm.R1, asm.DWord),
			asm.StoreMem(asm.R6, enabled, asm.R0, asm.DWord), asm.Mov.Imm(asm.R0, 0), asm.Return())
	}
	all := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R2), asm.Mov.Reg(asm.R7, asm.R1), asm.And.Imm(asm.R7, MaxCounters-1), asm.LoadMapPtr(asm.R1, 0),
		asm.FnKtimeGetNs.Call(), asm.LoadImm(asm.R1, since, asm.DWord), asm.Sub.Reg(asm.R0, asm.R1),
		asm.JEq.Imm(asm.R7, runsHalf, "half"), asm.JEq.Imm(asm.R7, runsLittle, "little"), asm.JEq.Imm(asm.R7, countsMuch, "much"),
		asm.JEq.Imm(asm.R7, isReplaced, "replaced"), asm.JEq.Imm(asm.R7, neverRuns, "never"), asm.JEq.Imm(asm.R7, isMissing, "missing"),
		asm.JEq.Imm(asm.R7, standsStill, "still"),
	}
	all = append(all, store("always")...)
	all = append(all, store("half", asm.RSh.Imm(asm.R1, 1))...)
	all = append(all, store("little", asm.RSh.Imm(asm.R1, 4))...)
	all = append(all, store("much", asm.LSh.Imm(asm.R0, 16), asm.Mov.Reg(asm.R1, asm.R0), asm.RSh.Imm(asm.R1, 1))...)
	all = append(all, store("replaced", asm.And.Imm(asm.R0, 1<<26-1), asm.Mov.Reg(asm.R1, asm.R0))...)
	all = append(all, store("never", asm.Mov.Imm(asm.R1, 0))...)
	all = append(all, store("still", asm.Mov.Imm(asm.R0, 1e9), asm.Mov.Reg(asm.R1, asm.R0))...)
	return append(all, asm.Mov.Imm(asm.R0, -2).WithSymbol("missing"), asm.Return())
}

// TestCountsAreScaled: no machine of the tests has counters that take turns, so that the values are made up.
func TestCountsAreScaled(t *testing.T) {
	var o Options
	for range MaxCounters {
		o.Counters = append(o.Counters, event(t, "context-switches"))
	}
	read, err := preload(o.tracepoints())
	must(t, err)
	since := now()
	for _, p := range read.spec.Programs {
		p.Instructions = replaceFunction(p.Instructions, "read_counter", fabricated(since))
		for i := range p.Instructions {
			if ins := &p.Instructions[i]; ins.IsLoadFromMap() && ins.Reference() == "" {
				*ins = ins.WithReference("counters") // else it is dropped
			}
		}
	}
	o.Preloaded = read
	counted, different, replaced := 0, 0, 0
	for _, r := range recording(t, mustLoad(t, o), func() {
		for range 50 {
			run(t, "true")
			time.Sleep(2 * time.Millisecond)
		}
	}) {
		counts, ok := r.switchCounts()
		if !ok {
			continue
		}
		unknown, scaled := counts.unknown(), counts.scaled()
		isNew := unknown>>isReplaced&1 != 0
		if isNew {
			replaced++
			unknown &^= 1 << isReplaced
		}
		if unknown != 1<<neverRuns|1<<isMissing|1<<standsStill || scaled != 1<<runsHalf|1<<runsLittle|1<<countsMuch {
			t.Fatalf("unknown are %08b, scaled %08b", unknown, scaled)
		}
		want := counts.value(alwaysRuns)
		if want < 10_000 || want > 15_000_000 {
			continue
		}
		counted++
		for i, n := range []int64{runsHalf: counts.value(runsHalf), runsLittle: counts.value(runsLittle), countsMuch: counts.value(countsMuch) >> 16, isReplaced: counts.value(isReplaced)} {
			if wrong := n - want; i != alwaysRuns && !(i == isReplaced && isNew) && (wrong > want/50 || wrong < -want/50) {
				different++
			}
		}
	}
	// The counters are not read at the same moment.
	if counted < 20 || different > counted/10 || replaced == 0 {
		t.Errorf("of %d switches %d counts are wrong, %d of a counter that is new", counted, different, replaced)
	}
}
