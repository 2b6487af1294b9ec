//go:build linux

package damage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"wprof/test/events"
	"wprof/test/tools"
)

// spooled is the spool of a killed recorder, and the stream made of it while it is intact.
type spooled struct {
	spool  []byte
	chunks []spoolChunk
	whole  *events.Contents
}

// spoolChunk is one chunk of a spool, found by docs/spool.md.
type spoolChunk struct {
	at, size int // size without the zeros behind it
	typ      byte
	opened   bool // of a round: the window is open
}

func (c *spoolChunk) end() int { return c.at + (c.size+7)&^7 }

const (
	generation = 1
	round      = 4
	kallsyms   = 8
)

// chunksOf goes from chunk to chunk; what a killed recorder was writing is left out.
func chunksOf(spool []byte) (all []spoolChunk) {
	for at := 0; at+32 <= len(spool) && string(spool[at:at+4]) == "WSPL"; {
		c := spoolChunk{at: at, size: 32 + int(binary.LittleEndian.Uint32(spool[at+8:])), typ: spool[at+4]}
		if c.end() > len(spool) {
			break
		}
		c.opened = c.typ == round && binary.LittleEndian.Uint64(spool[at+32:]) != 0
		all = append(all, c)
		at = c.end()
	}
	return all
}

// opens reports whether something can be recovered of these chunks: the window opens in one.
func opens(chunks []spoolChunk) bool {
	first := slices.IndexFunc(chunks, func(c spoolChunk) bool { return c.typ == generation })
	return first >= 0 && slices.ContainsFunc(chunks[first:], func(c spoolChunk) bool { return c.opened })
}

// recordSpool has a recorder killed in its second generation.
func recordSpool(t *testing.T, args ...string) *spooled {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.wprof")
	args = append(append([]string{"-d60s", "-o", name}, args...), "--", tools.Path("worker"), "60", "1")
	r := tools.Start(t, args...)
	var spool []byte
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var err error
		if spool, err = os.ReadFile(name + ".part"); err != nil {
			t.Fatal(err)
		}
		chunks := chunksOf(spool)
		last := 0
		for i := range chunks {
			if chunks[i].typ == generation {
				last = i
			}
		}
		if last > 0 && opens(chunks[last:]) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the recorder does not begin a second generation: %s", r.Stderr.String())
		}
	}
	_ = syscall.Kill(-r.Cmd.Process.Pid, syscall.SIGKILL)
	_ = r.Cmd.Wait()
	spool, err := os.ReadFile(name + ".part")
	if err != nil {
		t.Fatal(err)
	}
	return newSpooled(t, spool)
}

var stacked *spooled

// spoolWithStacks has mappings and the kernel's symbols; its tests share one recording.
func spoolWithStacks(t *testing.T) *spooled {
	t.Helper()
	if stacked == nil {
		stacked = recordSpool(t)
	}
	return stacked
}

// newSpooled finishes an intact spool.
func newSpooled(t *testing.T, spool []byte) *spooled {
	t.Helper()
	s := &spooled{spool: spool, chunks: chunksOf(spool)}
	got := finishSpool(t, tools.Try, filepath.Join(t.TempDir(), "intact.part"), spool)
	if wrong := sane(&got, hostilePeak); wrong != "" || got.Status != 4 {
		t.Fatalf("undamaged: status %d: %s %s", got.Status, got.Stderr, wrong)
	}
	var err error
	if s.whole, err = events.Of(got.Stdout); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes in %d chunks, %d events", len(spool), len(s.chunks), s.whole.Number())
	return s
}

// withFewSymbols is the same spool with a thousand symbols of the kernel instead of 200,000, which take a tenth of a second to
// read.
func (s *spooled) withFewSymbols(t *testing.T) *spooled {
	t.Helper()
	return newSpooled(t, s.withSymbols(compress(t, symbols(1000, "ffffffff%08x T f%d\n"))))
}

// finishSpool is wprof-symbolize, without source lines (see variants); the result stands in Stdout.
func finishSpool(t testing.TB, try runTool, name string, spool []byte) tools.Result {
	t.Helper()
	if err := os.WriteFile(name, spool, 0o600); err != nil {
		t.Fatal(err)
	}
	result := name + ".result"
	got := try(t, hang, nil, "wprof-symbolize", "--no-lines", name, "-o", result)
	var err error
	if got.Stdout, err = os.ReadFile(result); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	_ = os.Remove(result)
	return got
}

// problem compares the stream made of a damaged spool with that of the intact one; "": nothing is wrong.
func (s *spooled) problem(d *damaged, got *tools.Result) string {
	if wrong := sane(got, hostilePeak); wrong != "" {
		return wrong
	}
	left := slices.DeleteFunc(slices.Clone(s.chunks), func(c spoolChunk) bool { return d.from < c.at+c.size && c.at < d.to })
	want := 1
	if opens(left) {
		want = 4
	}
	// Without the list of all threads, the window opens only with the list of the second generation.
	unsure := want == 4 && left[0].at > 0
	if got.Status != want && !(unsure && got.Status == 1) {
		return fmt.Sprintf("status %d, want %d: %s", got.Status, want, got.Stderr)
	}
	if !isOneSentence(got.Stderr) {
		return fmt.Sprintf("not one sentence: %s", got.Stderr)
	}
	if got.Status == 1 {
		return nothingProblem(got)
	}
	if !bytes.Contains(got.Stderr, []byte("the recording was cut off: everything up to the last whole round is there")) {
		return fmt.Sprintf("the message does not say what is there: %s", got.Stderr)
	}
	t, err := events.Of(got.Stdout)
	if err != nil {
		return err.Error()
	}
	return t.Within(s.whole)
}

// nothingProblem is for a spool of which nothing can be recovered.
func nothingProblem(got *tools.Result) string {
	if len(got.Stdout) > 0 {
		return fmt.Sprintf("status 1 and %d bytes of output", len(got.Stdout))
	}
	for _, sentence := range []string{"before its window opened: there is nothing to recover", "not a spool of wprof-record"} {
		if bytes.Contains(got.Stderr, []byte(sentence)) {
			return ""
		}
	}
	return fmt.Sprintf("the message does not say why nothing is there: %s", got.Stderr)
}

// eachSpool puts damages of a spool through wprof-symbolize.
func (s *spooled) each(t *testing.T, what string, count int, make func(i int) damaged) {
	t.Helper()
	begin := time.Now()
	var recovered atomic.Int64
	share(t, spoolWorkers, count, ".part", func(i int, name string) (failures int) {
		d := make(i)
		try := tools.Serve
		if i%realEvery == 0 {
			try = tools.Try
		}
		got := finishSpool(t, try, name, d.stream)
		if wrong := s.problem(&d, &got); wrong != "" {
			failures++
			t.Errorf("%s: %s", d.what, wrong)
		}
		if got.Status == 4 {
			recovered.Add(1)
		}
		return failures
	})
	t.Logf("soak: %s: %d %s in %v: of %d something was recovered", t.Name(), count, what, time.Since(begin).Round(time.Second), recovered.Load())
}

// spoolWorkers is how many spools are finished at a time.
const spoolWorkers = 2

// damage cuts and flips. The ends of chunks stand at multiples of 8, so the next byte is the next chunk's. Random places are
// in what comes after the kernel's symbols, a megabyte that one checksum each 64 KiB stands for.
func (s *spooled) damage(t *testing.T, beginning, random int) {
	t.Helper()
	rng := seeded(t)
	step := 8
	if everyVariant() {
		step = 1
	}
	s.each(t, "cuts in the beginning", min(beginning, len(s.spool))/step, func(i int) damaged { return cutAt(s.spool, i*step+i%step) })
	var edges []int
	for _, c := range s.chunks {
		edges = append(edges, max(c.at-1, 0), c.at, c.at+1)
	}
	few := func(n int) int { // a busy machine's spool has hundreds of chunks; the soak takes all
		if everyVariant() {
			return n
		}
		return min(n, random)
	}
	rng.Shuffle(len(edges), func(i, j int) { edges[i], edges[j] = edges[j], edges[i] })
	s.each(t, "cuts at the edges of chunks", few(len(edges)), func(i int) damaged { return cutAt(s.spool, edges[i]) })
	from := 0
	for _, c := range s.chunks {
		if c.typ == kallsyms {
			from = c.end()
		}
	}
	cuts, flips := rng.Perm(len(s.spool)-from), rng.Perm(len(s.spool)-from)
	s.each(t, "random cuts", random, func(i int) damaged { return cutAt(s.spool, from+cuts[i]) })
	s.each(t, "random flips", random, func(i int) damaged { return flipAt(s.spool, from+flips[i], byte(1+i%255)) })
	// Chunks lose their headers or their payloads.
	order := rng.Perm(2 * len(s.chunks))
	s.each(t, "flips in each chunk", few(len(order)), func(i int) damaged {
		c := s.chunks[order[i]/2]
		return flipAt(s.spool, c.at+[]int{9, c.size - 1}[order[i]%2], 1)
	})
}

func TestDamagedSpoolsGiveBackWhatIsWhole(t *testing.T) {
	tools.NeedPrivilege(t)
	recordSpool(t, "--no-stacks").damage(t, 4096, 120)
}

// With stacks there are mappings and the kernel's symbols too.
func TestDamagedSpoolsWithStacksGiveBackWhatIsWhole(t *testing.T) {
	tools.NeedPrivilege(t)
	s := spoolWithStacks(t)
	s.each(t, "cuts with all of the kernel's symbols", 10, func(i int) damaged { return cutAt(s.spool, len(s.spool)-1-i*i*i*i) })
	s.withFewSymbols(t).damage(t, 0, 50)
}
