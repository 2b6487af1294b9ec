package length

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"wprof/format"
	"wprof/test/tools"
)

// TestRecordersMemoryIsFlat records a load that brings new processes, names, stacks and code all the time. Without
// its rings, the recorder must not need more memory in the end than after the first minute.
func TestRecordersMemoryIsFlat(t *testing.T) {
	tools.NeedPrivilege(t)
	long := recordFor(t)
	load := exec.Command(tools.Path("load"))
	if err := load.Start(); err != nil {
		t.Fatalf("start the load: %v", err)
	}
	t.Cleanup(func() {
		_ = load.Process.Kill()
		_ = load.Wait()
	})

	r, counted := startRecorder(t, long)
	peakOf := tools.WatchPeak(r.Process.Pid)
	sizes, held := watch(t, r, long)
	got := <-counted // before Wait, which closes the pipe
	if err := r.Wait(); err != nil {
		t.Fatalf("wprof-record: %v", err)
	}
	if got.err != nil {
		t.Fatalf("read the recording: %v", got.err)
	}
	held.gone(t)

	peak := peakOf()
	early, late := compared(sizes, long, 60)
	t.Logf("soak: default recording for %v of a load of %.0f thousand events a second: %d million events, %d definitions, %d lost", long,
		float64(got.events)/long.Seconds()/1e3, got.events/1e6, got.definitions, got.lost)
	t.Logf("soak: recorder's memory without its rings: %s, %s; most in the window %s", early, late, mib(slices.Max(sizes)))
	t.Logf("soak: its peak, finalising and %s of rings included: %s", mib(int64(got.rings)), mib(peak))
	if limit := bound(early.median, long); late.median > limit {
		t.Errorf("memory grew from %s to %s while recording; the bound is %s", early, late, mib(limit))
	}
	if limit := int64(256<<20) + int64(got.rings); peak > limit {
		t.Errorf("peak memory is %s, with %s of rings", mib(peak), mib(int64(got.rings)))
	}
	if got.events < 1000*uint64(long.Seconds()) {
		t.Errorf("%d events in %v: the load did not run", got.events, long)
	}
}

// recordFor is how long to record.
func recordFor(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("WPROF_SOAK_RECORD")
	if text == "" {
		return 15 * time.Second
	}
	long, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("WPROF_SOAK_RECORD: %v", err)
	}
	return long
}

// steady is how long a recording has to be for its memory to be compared with what it was after some minutes, to a twentieth.
const steady = 5 * time.Minute

// bound is how much memory may be in use in the end: a short recording has not reached its level at the first
// look.
func bound(early int64, long time.Duration) int64 {
	if long >= steady {
		return early + early/20
	}
	return early + early/4 + 8<<20
}

// compared are the level that memory has reached early, after that many seconds if the recording is long enough, and in the end.
func compared(sizes []int64, long time.Duration, settled int) (early, late level) {
	from, span := len(sizes)/3, len(sizes)/3
	if long >= steady {
		from, span = settled, 60
	}
	return levelOf(sizes, from, from+span), levelOf(sizes, len(sizes)-span, len(sizes))
}

// level is the median of what was seen in a span of seconds: single values go up and down with garbage collection.
type level struct {
	from, to int
	median   int64
}

func levelOf(sizes []int64, from, to int) level {
	s := slices.Sorted(slices.Values(sizes[from:to]))
	return level{from, to, s[len(s)/2]}
}

func (l level) String() string {
	return fmt.Sprintf("%s from second %d to %d", mib(l.median), l.from, l.to)
}

func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// startRecorder begins a default recording into a pipe and counts what comes out of it.
func startRecorder(t *testing.T, long time.Duration) (*exec.Cmd, <-chan counts) {
	t.Helper()
	r := exec.Command(tools.Path("wprof-record"), "-d", long.String())
	r.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	out, err := r.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	r.Stderr = &stderr
	if err := r.Start(); err != nil {
		t.Fatalf("start the recorder: %v", err)
	}
	t.Cleanup(func() {
		_ = r.Process.Kill()
		if t.Failed() {
			t.Logf("wprof-record: %s", stderr.String())
		}
	})
	counted := make(chan counts, 1)
	go func() { counted <- countStream(out) }()
	return r, counted
}

// counts are what a stream holds.
type counts struct {
	events, definitions, lost uint64
	kinds                     [format.MaxKind + 1]uint64
	rings                     uint64
	sections                  int
	opened, closed            int64
	err                       error
}

func countStream(in io.Reader) (c counts) {
	defer func() { _, _ = io.Copy(io.Discard, in) }()
	r, err := format.NewReader(in)
	if err != nil {
		return counts{err: err}
	}
	defer r.Close()
	r.OnSectionEnd(func(e *format.End) {
		c.sections++
		c.opened, c.closed = cmp.Or(c.opened, r.Session().Open), e.Close
		c.definitions += e.Definitions
		c.rings = max(c.rings, e.GetCost().GetRingBytes())
	})
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			c.err = err
			return c
		}
		c.events++
		c.kinds[e.Kind]++
		if e.Kind == format.KindLost {
			c.lost += e.Lost().Count()
		}
	}
	if d := r.Damage(); d != nil {
		c.err = fmt.Errorf("damaged: %s", d.Detail)
	}
	return c
}

// watch looks once a second, until the window closes, at the recorder's resident memory without rings, and in
// the middle at what it has loaded into the kernel.
func watch(t *testing.T, r *exec.Cmd, long time.Duration) (sizes []int64, held attached) {
	t.Helper()
	// It takes a moment to set up, and may finalise early only if something is wrong.
	seconds := time.NewTicker(time.Second)
	defer seconds.Stop()
	for end := time.Now().Add(long - 500*time.Millisecond); time.Now().Before(end); <-seconds.C {
		size, err := residentWithoutRings(r.Process.Pid)
		if err != nil {
			t.Fatalf("read the recorder in /proc: %v", err)
		}
		sizes = append(sizes, size)
		if len(held.links) == 0 {
			held = attachedBy(r.Process.Pid)
		}
	}
	if len(held.links) == 0 || len(held.programs) == 0 {
		t.Fatalf("the recorder holds %d programs and %d links: it was not looked at rightly", len(held.programs), len(held.links))
	}
	return sizes, held
}

// residentWithoutRings adds up /proc/PID/smaps without the rings of BPF maps and perf events.
func residentWithoutRings(pid int) (int64, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/smaps", pid))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var total int64
	isRing := false
	for s := bufio.NewScanner(f); s.Scan(); {
		words := strings.Fields(s.Text())
		switch {
		case len(words) > 0 && !strings.HasSuffix(words[0], ":"):
			isRing = strings.Contains(s.Text(), "anon_inode:bpf-map") || strings.Contains(s.Text(), "anon_inode:[perf_event]")
		case len(words) == 3 && words[0] == "Rss:" && !isRing:
			kb, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil {
				return 0, err
			}
			total += kb << 10
		}
	}
	return total, nil
}

// attached are the ids of the BPF objects of a process.
type attached struct {
	programs []ebpf.ProgramID
	links    []link.ID
}

// attachedBy reads them from the process's file descriptors.
func attachedBy(pid int) (a attached) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(line, ":")
			id, err := strconv.ParseUint(strings.TrimSpace(value), 10, 32)
			switch {
			case err != nil:
			case name == "prog_id" && !slices.Contains(a.programs, ebpf.ProgramID(id)):
				a.programs = append(a.programs, ebpf.ProgramID(id))
			case name == "link_id":
				a.links = append(a.links, link.ID(id))
			}
		}
	}
	return a
}

// gone fails the test if any of that is still there. The kernel frees it a little after the process's end.
func (a attached) gone(t *testing.T) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if left = a.left(); len(left) == 0 {
			return
		}
	}
	t.Errorf("after the recorder's end the kernel still has %s", strings.Join(left, ", "))
}

func (a attached) left() (left []string) {
	for _, id := range a.programs {
		if p, err := ebpf.NewProgramFromID(id); err == nil {
			left = append(left, p.String())
			p.Close()
		}
	}
	for _, id := range a.links {
		if l, err := link.NewFromID(id); err == nil {
			left = append(left, fmt.Sprintf("link %d", id))
			l.Close()
		}
	}
	return left
}
