//go:build linux

package bpf

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"wprof/internal/ringdata"
)

// Two tracers see the same events: one has room for all, the other is read occasionally.
func TestHandledAndLostAddUpToWhatHappened(t *testing.T) {
	for range 20 {
		if lossesAddUp(t) {
			return
		}
	}
	t.Error("other processes were never quiet enough at the edges of the window")
}

// lossesAddUp reports whether both tracers had the same window: nothing happened between opening one and the other.
func lossesAddUp(t *testing.T) bool {
	var roomy, tight *Tracer
	var inBand []record
	var opened, shut int64
	newPair(t).play(3000, func(play func()) {
		// Events of other processes would occur at the edges of the window too often.
		mine := Filter{TIDs: []int32{int32(unix.Gettid())}}
		roomy = mustLoad(t, Options{Filter: mine})
		tight = mustLoad(t, Options{Filter: mine, RingBytes: os.Getpagesize()})
		must(t, roomy.setArmed(true))
		must(t, tight.setArmed(true))
		opened = now()
		play()
		for range 5 {
			setName("wp-renamed")
			run(t, "true")
			inBand = append(inBand, drain(tight)...)
			for range 200 {
				setName("wp-renamed")
			}
		}
		shut = now()
		must(t, tight.setArmed(false))
		must(t, roomy.setArmed(false))
	})
	must(t, tight.Disarm())
	must(t, roomy.Disarm())
	inBand = append(inBand, drain(tight)...)

	var happened, handled, reported, atEnd [ringdata.KindEvents]int
	for _, r := range drain(roomy) {
		if r.ts() < opened || r.ts() > shut {
			return false
		}
		happened[place(r)]++
	}
	var lastReported [1024]int64
	for _, r := range inBand {
		if r.kind() != ringdata.KindLost {
			handled[place(r)]++
			continue
		}
		sum := 0
		for kind := range ringdata.KindEvents {
			sum += r.u32(ringdata.LostCounts + 4*kind)
			reported[kind] += r.u32(ringdata.LostCounts + 4*kind)
		}
		if from := r.u64(ringdata.LostFrom); from < max(opened, lastReported[r.cpu()]) || from > r.ts() || sum == 0 {
			t.Errorf("%d losses reported at %d since %d, the window opened at %d and the last ones were reported at %d", sum, r.ts(), from, opened, lastReported[r.cpu()])
		}
		lastReported[r.cpu()] = r.ts()
	}
	for _, l := range tight.TailLosses() {
		atEnd[l.Kind] += int(l.Count)
		if l.From < opened || l.From > shut {
			t.Errorf("tail loss from %d, the window is %d to %d", l.From, opened, shut)
		}
	}
	for _, tracer := range []*Tracer{roomy, tight} {
		programs, err := tracer.Programs()
		must(t, err)
		for _, p := range programs {
			if p.RecursionMisses > 0 {
				return false
			}
		}
	}
	for kind := uint8(LostDefinition); kind <= ringdata.KindFree; kind++ {
		if handled[kind]+reported[kind]+atEnd[kind] != happened[kind] {
			t.Errorf("kind %d: %d handled, %d reported as lost, %d at the end; %d happened", kind, handled[kind], reported[kind], atEnd[kind], happened[kind])
		}
	}
	if reported[ringdata.KindSwitch] == 0 || reported[ringdata.KindWaking] == 0 || atEnd[ringdata.KindRename] == 0 || happened[LostDefinition] == 0 || handled[ringdata.KindSwitch] == 0 {
		t.Errorf("handled %v, reported %v, at the end %v: the test does not test", handled, reported, atEnd)
	}
	if again := tight.TailLosses(); len(again) != 0 {
		t.Errorf("taken twice: %v", again)
	}
	return true
}

// place is the kind under which a lost record is counted. A record that neither of its threads brings through the filter is no event:
// it identifies a thread.
func place(r record) uint8 {
	if r.kind() < ringdata.KindEvents && r.flags()&(ringdata.FlagSubject|ringdata.FlagObject) != 0 {
		return r.kind()
	}
	return LostDefinition
}

func TestRingsOfAnySizeWrap(t *testing.T) {
	tracer := mustLoad(t, Options{Rings: 1, RingBytes: 4 * os.Getpagesize()})
	ring := tracer.Rings()[0]
	must(t, tracer.Arm())
	for ring.Producer() < uint64(10*tracer.options.RingBytes) {
		for _, r := range drain(tracer) {
			if r.kind() == 0 || r.kind() > ringdata.KindMove || len(r.bytes) < 24 {
				t.Fatalf("not a record: %v", r)
			}
		}
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 100_000}, nil)
	}
}
