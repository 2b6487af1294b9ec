package length

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"wprof/format"
	"wprof/test/tools"
)

// check compares what was read of an output with what the generator wrote.
type check func(written) error

// job is a tool with flags.
type job struct {
	name    string
	args    func(total uint64) []string
	selects func(total uint64) predicate // what a filter keeps; nil: everything
	lists   bool                         // has a list of processes, which grows until it is full
	keeps   bool                         // keeps what is different in the whole stream, up to a bound of its own
	brief   bool                         // half as long a stream, and none in the soak: another one keeps the same in memory
	file    bool                         // reads a file instead of a pipe
	read    func(out io.Reader) check    // reads all of the output
	files   func(folder string) check    // what the tool has written into its working folder; nil: nothing
}

func (j *job) command(total uint64) (tool string, args []string) {
	tool, rest, _ := strings.Cut(j.name, " ")
	args = strings.Fields(rest)
	if j.args != nil {
		args = append(args, j.args(total)...)
	}
	return tool, args
}

// jobs are all tools, with the flags that make them keep something in memory.
func jobs() []job {
	return []job{
		{name: "wprof-filter -n w*7", read: kept, selects: of(func(t *thread) bool {
			return t.comm[0] == 'w' && t.comm[len(t.comm)-1] == '7'
		})},
		{name: "wprof-filter -P " + strconv.Itoa(keptPID) + " -K waking", brief: true, read: kept, selects: without(format.KindWaking, of(func(t *thread) bool {
			return t.pid != keptPID
		}))},
		{name: "wprof-filter -p 1 --children --cpu 0-3", brief: true, read: kept, selects: below(4, of(func(t *thread) bool { return t.tid != 0 }))},
		{name: "wprof-filter", args: middle, read: kept, selects: inTheMiddle},
		{name: "wprof-symbolize", read: all},
		{name: "wprof-perfetto", brief: true, read: isTrace},
		{name: "wprof-perfetto -e no-threads,embed-stacks", brief: true, read: isTrace},
		{name: "wprof-perfetto -e arrows,sched-extras,tidpid,timer-ticks,embed-stacks", read: isTrace},
		{name: "wprof-perfetto", file: true, brief: true, read: isTrace},
		{name: "wprof-flame", brief: true, keeps: true, read: isFolded},
		{name: "wprof-flame --wakeup-chain 4 --by thread", keeps: true, read: isFolded},
		{name: "wprof-flame --html", brief: true, keeps: true, read: isPage},
		{name: "wprof-json", brief: true, read: isLines},
		{name: "wprof-json --no-stacks --time ns", brief: true, read: isLines},
		{name: "wprof-json --stream", read: isLines},
		{name: "wprof-json", file: true, brief: true, read: isLines},
		{name: "wprof-json --stream", file: true, brief: true, read: isLines},
		{name: "wprof-json --chrome", keeps: true, read: isChrome},
		{name: "wprof-json --firefox", keeps: true, read: isProfile},
		{name: "wprof-json --parquet columns -e numa", keeps: true, read: isNothing, files: areColumns},
		{name: "wprof-info", lists: true, brief: true, read: isSummary},
		{name: "wprof-info --json", lists: true, read: isJSON},
		{name: "wprof-info --check", read: isSound},
		{name: "wprof-info --dump", brief: true, read: isText},
	}
}

// predicate reports whether an event of these threads is selected.
type predicate func(e *format.Event, of, other *thread) bool

// of selects events with a selected thread on either side, and losses.
func of(selects func(*thread) bool) func(uint64) predicate {
	return func(uint64) predicate {
		return func(e *format.Event, of, other *thread) bool {
			return e.Kind == format.KindLost || of != nil && selects(of) || other != nil && selects(other)
		}
	}
}

func without(kind format.Kind, selects func(uint64) predicate) func(uint64) predicate {
	return func(total uint64) predicate {
		return func(e *format.Event, of, other *thread) bool { return e.Kind != kind && selects(total)(e, of, other) }
	}
}

func below(cpu uint32, selects func(uint64) predicate) func(uint64) predicate {
	return func(total uint64) predicate {
		return func(e *format.Event, of, other *thread) bool {
			return (e.CPU < cpu || e.Kind == format.KindLost) && selects(total)(e, of, other)
		}
	}
}

// middle is half of the stream, from a quarter on.
func middle(total uint64) []string {
	from, to := middleOf(total)
	return []string{"--start", fmt.Sprintf("%dns", from-opensAt), "--end", fmt.Sprintf("%dns", to-opensAt)}
}

func middleOf(total uint64) (from, to int64) {
	length := closesAt(total) - opensAt
	return opensAt + length/4, opensAt + length*3/4
}

func inTheMiddle(total uint64) predicate {
	from, to := middleOf(total)
	return func(e *format.Event, _, _ *thread) bool { return e.Time >= from && e.Time < to }
}

// bounds are those of the length of a stream.
type bounds struct {
	events        uint64
	sectionBytes  int64
	sectionEvents uint64
	density       int // how many times as often as in the soak threads begin and end, and stacks are new
}

// mostMemory is 256 MiB, and beside it the definitions of a section where it is full of them: in memory they are three
// times as large as stored.
func (b bounds) mostMemory() int64 {
	if b.sectionEvents < b.events {
		return 256 << 20
	}
	return 256<<20 + 3*b.sectionBytes
}

func (b bounds) isLong() bool { return b.events > 100_000_000 }

// lengthOf is what to do: in a short stream sections end earlier, and threads and stacks change more often, so that it has about
// as many of what could stay in memory as one that is three times as long.
func lengthOf(t *testing.T) bounds {
	t.Helper()
	text := os.Getenv("WPROF_SOAK_EVENTS")
	if text == "" {
		return bounds{1_000_000, format.EpochBytes, 33_000, 3}
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("WPROF_SOAK_EVENTS: %v", err)
	}
	return bounds{n, format.EpochBytes, 1 << 62, 1}
}

// TestMemoryIsFlatWhateverTheLength pipes a stream, and one of a tenth of its length, through every tool: neither
// threads that have ended nor stacks, names, sections and losses of long ago may stay in memory, and the output
// is what the generator wrote.
func TestMemoryIsFlatWhateverTheLength(t *testing.T) {
	b := lengthOf(t)
	full := compare(t, b)
	b.events /= 2
	half := compare(t, b)
	for _, j := range jobs() {
		if j.brief && b.isLong() {
			continue
		}
		name := strings.ReplaceAll(j.name, " ", "_")
		if j.file {
			name += "_FILE"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := full
			if j.brief {
				c = half
			}
			few, many := j.run(t, c.tenth), j.run(t, c.whole)
			if t.Failed() {
				return
			}
			t.Logf("soak: `%s`: %d million events, %d threads, %d definitions in %d sections: peak %s, and %s for a tenth; %.1f M events/s",
				strings.Join(append([]string{j.name}, extra(j, c.whole.events)...), " "), many.wrote.events/1e6, many.wrote.threads, many.wrote.definitions, many.wrote.sections, mib(many.peak), mib(few.peak),
				float64(many.wrote.events)/many.took.Seconds()/1e6)
			limit := few.peak + few.peak/4 + 8<<20
			if j.lists {
				limit += 16 << 20
			}
			if many.peak > limit && !j.keeps {
				t.Errorf("peak memory is %s for %d events and %s for %d: it grows with the length", mib(few.peak), few.wrote.events, mib(many.peak), many.wrote.events)
			}
			if limit := b.mostMemory(); many.peak > limit {
				t.Errorf("peak memory is %s, the bound %s", mib(many.peak), mib(limit))
			}
		})
	}
}

// comparison is a stream and one of a tenth of its length.
type comparison struct{ whole, tenth *input }

func compare(t *testing.T, b bounds) comparison {
	t.Helper()
	short := b
	short.events /= 10
	return comparison{newInput(t, b), newInput(t, short)}
}

func extra(j job, total uint64) []string {
	if j.args == nil {
		return nil
	}
	return j.args(total)
}

// ran is what a tool needed for a stream.
type ran struct {
	wrote written
	peak  int64
	took  time.Duration
}

// run pipes a stream through the tool, or gives it the file.
func (j *job) run(t *testing.T, s *input) ran {
	t.Helper()
	tool, args := j.command(s.events)
	if j.file {
		args = append(args, s.path)
	}
	cmd := exec.Command(tools.Path(tool), args...)
	if j.files != nil {
		cmd.Dir = t.TempDir()
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	wrote := make(chan written, 1)
	go func() {
		defer in.Close()
		switch {
		case j.file:
			wrote <- s.wrote
		case s.path != "" && j.selects == nil:
			// An error is the tool's end before that of its input, which is seen from its status.
			_ = s.copyTo(in)
			wrote <- s.wrote
		default:
			w, _ := generate(in, s.bounds, j.selects)
			wrote <- w
		}
	}()
	peak := tools.WatchPeak(cmd.Process.Pid)
	holds := j.read(out)
	w := <-wrote
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %v: %s", cmd.Args, err, stderr.String())
	}
	if err := holds(w); err != nil {
		t.Fatalf("%v: %v", cmd.Args, err)
	}
	if j.files != nil {
		if err := j.files(cmd.Dir)(w); err != nil {
			t.Fatalf("%v: %v", cmd.Args, err)
		}
	}
	return ran{w, peak(), time.Since(begin)}
}

// input is a stream of some length. It is in a file unless that were very large.
type input struct {
	bounds
	path  string
	wrote written // to the file
}

func newInput(t *testing.T, b bounds) *input {
	t.Helper()
	if b.events > 10_000_000 {
		return &input{bounds: b}
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "long.wprof"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := generate(f, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &input{b, f.Name(), w}
}

func (s *input) copyTo(w io.Writer) error {
	f, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}
