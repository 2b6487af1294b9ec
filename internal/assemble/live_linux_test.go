package assemble

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"wprof/format"
	"wprof/internal/sideband"
	"wprof/internal/spool"
	"wprof/internal/symbol"
)

// lockedBuffer is what a live stream is written to while the test looks at it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.b.Bytes())
}

// has waits until the stream has an event of a time.
func (l *lockedBuffer) has(at int64) bool {
	for range 400 {
		r, err := format.NewReader(bytes.NewReader(l.bytes()))
		for err == nil {
			var e *format.Event
			if e, err = r.Next(); err == nil && e.Time == at && e.Kind != format.KindLost {
				return true
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

// live runs a spool's text with a live Finalise beside it. after is called after each line that was written.
func live(t *testing.T, text string, after func(out *lockedBuffer, word string)) (string, Summary) {
	t.Helper()
	return liveWith(t, text, Options{Live: true}, after)
}

func liveWith(t *testing.T, text string, o Options, after func(out *lockedBuffer, word string)) (string, Summary) {
	t.Helper()
	w, err := spool.CreateUnlinked(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out := &lockedBuffer{}
	type result struct {
		summary Summary
		err     error
	}
	done := make(chan result, 1)
	p := &spoolText{w: w, step: func(word string) {
		if word == "spool" {
			s, err := w.Spool()
			if err != nil {
				t.Error(err)
			}
			go func() {
				summary, err := Finalise(s, format.NewWriter(out, format.WriterOptions{Live: true}), o)
				done <- result{summary, err}
			}()
		}
		if after != nil {
			after(out, word)
		}
	}}
	if err := p.run(text, ""); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "\nend ") {
		w.Close()
	}
	r := <-done
	w.Close()
	if r.err != nil {
		t.Fatal(r.err)
	}
	return streamText(t, out.bytes(), r.summary.Damage), r.summary
}

const liveText = `
spool rings=2 recorder=9 cpus=2
task at=1000 tid=10 comm=alpha cpu=0 running=1 since=500
open 2000
0: 2100 switch cpu=0 prev=10 next=0 state=1
round 3000
0: 3100 waking cpu=0 waker=0 wakee=10
round 4000
`

func TestLiveEventsArriveWithTheirRound(t *testing.T) {
	rounds := 0
	live(t, liveText+"end 4100\n", func(out *lockedBuffer, word string) {
		if word != "round" {
			return
		}
		rounds++
		if at := []int64{2100, 3100}[rounds-1]; !out.has(at) {
			t.Errorf("after round %d the stream has no event at %d", rounds, at)
		}
	})
}

// The positions of the second round leave a record out that is older than its clock: a broken kernel, but
// nothing is thrown away.
func TestLateRecordIsWrittenAtTheEarliestTimePossible(t *testing.T) {
	text, summary := live(t, liveText+"1: 2500 waking cpu=1 waker=0 wakee=10\nround 5000\nend 5100\n", func(out *lockedBuffer, word string) {
		if word == "round" {
			time.Sleep(20 * time.Millisecond)
		}
	})
	const want = "+0.000001100 cpu1 waking 2 own=+0.000000500 wakee=1 prio=120 target_cpu=0"
	if summary.Late != 1 {
		t.Errorf("%d late events, want 1", summary.Late)
	}
	if !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
}

func TestLiveStreamGoesOnInEpochs(t *testing.T) {
	text, summary := live(t, liveText+`
0: 61000000000 switch cpu=0 prev=0 next=10
round 61000000100
round 130000000000
end 130000000001
`, nil)
	if summary.Sections != 3 {
		t.Errorf("%d sections, want 3: epochs at 60 s and 120 s", summary.Sections)
	}
	if n := strings.Count(text, "continues"); n < 2 {
		t.Errorf("%d sections continue the one before, want 2, in\n%s", n, text)
	}
	if !strings.Contains(text, "woken=-") && !strings.Contains(text, "woken=+") {
		t.Errorf("the waking before the epoch is not in its state:\n%s", text)
	}
}

func TestLiveStreamEndsWellFormedWhenTheRecorderFails(t *testing.T) {
	_, summary := live(t, liveText, func(out *lockedBuffer, word string) {
		if word == "round" && !out.has(2100) {
			t.Error("the first event has not arrived")
		}
	})
	if summary.Damage == nil || !summary.Damage.Cut || summary.Close != 4000 {
		t.Errorf("damage %v, close %d; want a cut recording that closes at 4000", summary.Damage, summary.Close)
	}
}

func TestLiveAndLaterFinalisingAreEqual(t *testing.T) {
	files, err := filepath.Glob("testdata/*.spool")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.Contains(string(text), "\nflip"), strings.Contains(string(text), "\nlose"), strings.Contains(string(text), "\ndrop"), strings.Contains(string(text), "\ntruncate"):
			continue
		case !strings.Contains(string(text), "\nopen"):
			continue
		}
		got, _ := live(t, string(text), nil)
		want := finaliseText(t, string(text))
		if g, w := eventLines(got), eventLines(want); g != w {
			t.Errorf("%s: live\n%s\nlater\n%s", file, g, w)
		}
	}
}

// eventLines are the lines of events: blocks end elsewhere in a live stream.
func eventLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  +") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// burst drives a live recording of one ring with big rounds.
type burst struct {
	t      *testing.T
	w      *spool.Writer
	folder string // of the spool
	done   chan Summary
	now    int64
	pos    uint64
}

func startBurst(t *testing.T) *burst {
	t.Helper()
	folder := t.TempDir()
	w, err := spool.CreateUnlinked(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	b := &burst{t: t, w: w, folder: folder, done: make(chan Summary, 1), now: 2}
	b.must(w.Begin(spool.Header{Session: &format.Session{Id: 1}, Rings: 1}))
	s, err := w.Spool()
	b.must(err)
	go func() {
		summary, err := Finalise(s, format.NewWriter(&counter{}, format.WriterOptions{Live: true}), Options{Live: true})
		if err != nil {
			t.Error(err)
		}
		b.done <- summary
	}()
	b.must(w.Open(1))
	return b
}

func (b *burst) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

const burstEvents = 50_000

// round writes 2 MB of records.
func (b *burst) round() {
	b.t.Helper()
	var raw []byte
	for range burstEvents {
		raw = appendSwitch(raw, b.now, 0, 10, 11)
		b.now++
	}
	b.must(b.w.Ring(0, b.pos, raw))
	b.pos += uint64(len(raw))
	b.must(b.w.Round(spool.Round{Time: b.now, Producer: []uint64{b.pos}, Drained: []uint64{b.pos}}))
}

func (b *burst) end() Summary {
	b.t.Helper()
	b.must(b.w.End(spool.Tail{Close: b.now}))
	return <-b.done
}

func TestLiveSpoolGivesItsDiskSpaceBack(t *testing.T) {
	b := startBurst(t)
	for range 20 {
		b.round()
	}
	b.end()
	if used := diskSpace(t, b.folder); used > b.w.Bytes()/2 {
		t.Errorf("the spool of %d bytes takes %d on disk, want less than half", b.w.Bytes(), used)
	}
}

// TestLiveHolesSpareWhatTheNextGenerationTakesOver: the rounds of the overlap are read long before they are copied.
func TestLiveHolesSpareWhatTheNextGenerationTakesOver(t *testing.T) {
	b := startBurst(t)
	b.round()
	b.must(b.w.BumpGeneration(1))
	for range 5 {
		b.round()
	}
	for range 200 { // until all of it could have been punched
		if diskSpace(t, b.folder) < b.w.Bytes() {
			break
		}
		time.Sleep(time.Millisecond)
	}
	b.must(b.w.Cut(&format.ClockSnapshot{Monotonic: b.now}))
	b.round()
	summary := b.end()
	if got, want := summary.Events[format.KindSwitch], uint64(7*burstEvents); got != want || summary.Damage != nil {
		t.Errorf("%d switches, damage %v; want %d and none", got, summary.Damage, want)
	}
}

// slowNamer waits until it is released.
type slowNamer struct{ release chan struct{} }

func (n slowNamer) Names(m *format.Module, at []symbol.Address, out []symbol.Name) error {
	<-n.release
	return textNamer{}.Names(m, at, out)
}

// TestLiveFramesGetTheirNamesLater: a live stream waits for no name. Once there is one, the frame and its stack are
// defined again.
func TestLiveFramesGetTheirNamesLater(t *testing.T) {
	namer := slowNamer{make(chan struct{})}
	round := 0
	text, summary := liveWith(t, sampleText+`
0: 3100 sample cpu=0 tid=10 user=1 kernel=2
round 4000
0: 4100 sample cpu=0 tid=10 user=1 kernel=2
round 5000
0: 5100 sample cpu=0 tid=10 user=1 kernel=2
round 6000
0: 6100 sample cpu=0 tid=10 user=1 kernel=2
round 7000
end 7100
`, Options{Live: true, Names: namer}, func(out *lockedBuffer, word string) {
		if word != "round" {
			return
		}
		if round++; round == 2 {
			if !out.has(3100) {
				t.Error("the stream waits for names")
			}
			close(namer.release)
			time.Sleep(50 * time.Millisecond)
		}
		if round == 3 && !out.has(4100) {
			t.Error("the third sample has not arrived")
		}
	})
	if !strings.Contains(text, "  stack 1 frames=1,2,3 kernel_frames=1") || !strings.Contains(text, `line function="alpha_4"`) {
		t.Errorf("no stack without names and no name in\n%s", text)
	}
	last := text[strings.LastIndex(text, "sample 1 stack="):]
	if strings.HasPrefix(last, "sample 1 stack=1 ") {
		t.Errorf("the last sample has the stack without names:\n%s", text)
	}
	if summary.User.Named == 0 || summary.User.Named >= summary.User.Seen {
		t.Errorf("user frames %+v, want some with a name and some without", summary.User)
	}
}

// TestLiveHolesSpareCopies: what was copied is read as long as the recording goes on.
func TestLiveHolesSpareCopies(t *testing.T) {
	b := startBurst(t)
	file := make([]byte, 100_000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(file)
	var all []*spool.Copy
	for i := range uint16(4) {
		b.round()
		b.must(b.w.CopyPiece(i, 0, file))
		done, err := b.w.CopyFile(i, int64(len(file)), &sideband.Record{Kind: sideband.KindMap, Path: []byte("/x"), Device: 1, Inode: uint64(i)})
		b.must(err)
		all = append(all, done)
	}
	for range 16 {
		b.round()
	}
	b.end()
	if used := diskSpace(t, b.folder); used > b.w.Bytes()/2 {
		t.Errorf("the spool of %d bytes takes %d on disk, want less than half", b.w.Bytes(), used)
	}
	got := make([]byte, len(file))
	for i, c := range all {
		if _, err := c.ReadAt(got, 0); err != nil || !bytes.Equal(got, file) {
			t.Errorf("copy %d does not hold what was copied: %v", i, err)
		}
	}
}
