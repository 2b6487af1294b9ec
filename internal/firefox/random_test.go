package firefox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"wprof/format"
	"wprof/format/textform"
	"wprof/internal/timeline/simulate"
	"wprof/internal/timeline/totals"
	"wprof/test/fromtext"
)

// sums adds up the weights of all samples, and checks that the CPU time agrees.
func (p *profileJSON) sums(t testing.TB) (all totals.Totals) {
	t.Helper()
	var cpu int64
	for i := range p.Threads {
		s := &p.Threads[i].Samples
		for n, stack := range s.Stack {
			cpu += s.ThreadCPUDelta[n]
			if stack == nil {
				continue
			}
			ns := int64(math.Round(s.Weight[n] * 1e6))
			switch p.Meta.Categories[p.Shared.FrameTable.Category[p.Shared.StackTable.Frame[*stack]]].Name {
			case "Blocked", "Waiting for CPU", "Idle":
				all.Off += ns
			default:
				all.Running += ns
			}
		}
	}
	if cpu != all.Running {
		t.Errorf("threads use %d ns of CPU and run for %d ns", cpu, all.Running)
	}
	return all
}

func profileOf(t testing.TB, stream []byte, change func(*profile)) *profileJSON {
	t.Helper()
	r, err := format.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := newProfile(r)
	if change != nil {
		change(p)
	}
	var out bytes.Buffer
	if _, err := p.convert(r, &out, Options{}); err != nil {
		t.Fatal(err)
	}
	return read(t, out.Bytes())
}

// On simulated machines, with and without losses, threads are on and off the CPU for as long as the timeline says.
func TestProfilesOfMachinesAddUp(t *testing.T) {
	for seed := range uint64(40) {
		o := simulate.Options{Seed: seed, CPUs: 1 + int(seed%4), Threads: 4 + int(seed%9), Losses: seed%2 == 1, Epochs: seed%3 == 1}
		stream := simulate.Stream(t, o, 3000)
		if got, want := profileOf(t, stream, nil).sums(t), totals.Of(t, stream); got != want || got.Running == 0 {
			t.Fatalf("%+v: %+v, want %+v", o, got, want)
		}
	}
}

// Threads that are moved to the store while the stream is read lose nothing, and everything fits the types.
func TestThreadsInTheStoreAreWhole(t *testing.T) {
	stream := simulate.Stream(t, simulate.Options{Seed: 7, CPUs: 3, Threads: 30}, 5000)
	whole := profileOf(t, stream, nil)
	swept := profileOf(t, stream, func(p *profile) { p.threads.most, p.threads.sweepAt = 2, 2 })
	markers := func(p *profileJSON) (n int) {
		for i := range p.Threads {
			n += p.Threads[i].Markers.Length
		}
		return n
	}
	if len(swept.Threads) <= len(whole.Threads) {
		t.Errorf("%d threads, and %d where they are moved", len(whole.Threads), len(swept.Threads))
	}
	if a, b := whole.sums(t), swept.sums(t); a != b || markers(whole) != markers(swept) {
		t.Errorf("%+v and %d markers, want %+v and %d", b, markers(swept), a, markers(whole))
	}
}

// Indices that were dropped only make tables longer.
func TestDroppedIndicesAreAddedAgain(t *testing.T) {
	p := newProfile(&format.Reader{})
	defer p.store.Close()
	s := &p.shared
	first := s.string("first")
	for i := range 3 * knownStrings {
		s.string(fmt.Sprint(i))
	}
	again := s.string("first")
	if again == first || again != s.string("first") || s.strings.rows != 3*knownStrings+2 {
		t.Errorf("index %d, then %d, of %d", first, again, s.strings.rows)
	}
}

// One flipped byte anywhere, and an end anywhere, leave a profile that fits the types.
func TestDamagedStreamsGiveProfiles(t *testing.T) {
	stream := fromtext.Stream(t, capture)
	for at := range stream {
		flipped := bytes.Clone(stream)
		flipped[at] ^= 0x55
		check(t, flipped)
		check(t, stream[:at])
	}
}

// check writes a profile of any bytes, a stream or not.
func check(t testing.TB, stream []byte) {
	t.Helper()
	r, err := format.NewReader(bytes.NewReader(stream))
	if err != nil {
		return
	}
	defer r.Close()
	var out bytes.Buffer
	if _, err := Write(r, &out, Options{}); err != nil && !json.Valid(out.Bytes()) {
		t.Fatalf("no JSON: %s", out.Bytes())
	}
	read(t, out.Bytes())
}

// FuzzWrite takes any bytes as a stream, as the text of one, and as names.
func FuzzWrite(f *testing.F) {
	f.Add(fromtext.Stream(f, capture))
	f.Add([]byte(capture))
	f.Add([]byte(typed))
	f.Add([]byte("\xff\"\\\x00\x1f\u2028"))
	f.Add(simulate.Stream(f, simulate.Options{Seed: 1, CPUs: 2, Threads: 4, Losses: true}, 200))
	f.Fuzz(func(t *testing.T, b []byte) {
		check(t, b)
		var stream bytes.Buffer
		if err := textform.Undump(&stream, bytes.NewReader(b)); err == nil {
			check(t, stream.Bytes())
		}
		name := fmt.Sprintf("%q", b)
		stream.Reset()
		text := strings.NewReplacer("comm=lazy", "comm="+name, "host=box", "host="+name, `function="work"`, "function="+name, `"request"`, name, `"size"`, name).Replace(typed)
		if err := textform.Undump(&stream, strings.NewReader(text)); err == nil {
			check(t, stream.Bytes())
		}
	})
}
