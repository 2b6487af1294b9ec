//go:build linux

package damage

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"wprof/format"
	"wprof/format/check"
	"wprof/internal/perfetto/schema"
	"wprof/test/tools"
)

const (
	// hang is how long a tool may take on a machine with a hundred other things to do; busy is how much of that it may
	// be on a CPU, which no load changes.
	hang = 5 * time.Minute
	busy = time.Minute
	// peak is the most memory that a tool may have in use for a small file, however it is damaged.
	peak = 192 << 20
)

// variant is a tool with flags and a kind of input.
type variant struct {
	tool string
	args []string
	pipe bool
	// check returns what is wrong with the output, besides what holds for all; "": nothing.
	check func(c *captured, want *expected, out []byte) string
}

// captured is an intact stream, its blocks and its events.
type captured struct {
	stream []byte
	pieces []piece
}

// variants name functions without source lines: reading those of this machine's libc takes ten times as long as all else.
func variants() []variant {
	var all []variant
	for _, pipe := range []bool{false, true} {
		all = append(all,
			variant{"wprof-filter", nil, pipe, checkStream},
			variant{"wprof-symbolize", []string{"--no-lines"}, pipe, checkStream},
			variant{"wprof-perfetto", []string{"-e", "arrows,sched-extras,embed-stacks,timer-ticks"}, pipe, checkTrace},
			variant{"wprof-flame", []string{"--by", "thread", "--unit", "ns"}, pipe, checkFolded},
			variant{"wprof-info", nil, pipe, checkText},
			variant{"wprof-info", []string{"--report"}, pipe, checkText},
			variant{"wprof-info", []string{"--check"}, pipe, checkText},
			variant{"wprof-info", []string{"--dump"}, pipe, checkDump})
	}
	// From a pipe, wprof-json reads what it has copied to a file, and its other variants read a file as they do a pipe.
	return append(all,
		variant{"wprof-json", nil, false, checkLines},
		variant{"wprof-json", []string{"--stream", "-e", "numa"}, true, checkLines},
		variant{"wprof-json", []string{"--firefox"}, true, checkJSON},
		variant{"wprof-json", []string{"--chrome"}, true, checkJSON})
}

func (v *variant) String() string {
	if v.pipe {
		return v.tool + " " + strings.Join(v.args, " ") + " < FILE"
	}
	return v.tool + " " + strings.Join(v.args, " ") + " FILE"
}

// hasTwin reports whether the same tool with the same flags is there for files and for pipes.
func (v *variant) hasTwin() bool { return v.tool != "wprof-json" }

// summary reports whether the tool reads only headers and ends of sections of a regular file.
func (v *variant) summary() bool { return v.tool == "wprof-info" && len(v.args) == 0 && !v.pipe }

// runTool is [tools.Try] or [tools.Serve].
type runTool func(t testing.TB, limit time.Duration, stdin []byte, name string, args ...string) tools.Result

// run puts bytes through a tool; name is the file to put them in.
func (v *variant) run(t testing.TB, try runTool, name string, stream []byte) tools.Result {
	if v.pipe {
		return try(t, hang, stream, v.tool, v.args...)
	}
	if err := os.WriteFile(name, stream, 0o600); err != nil {
		t.Fatal(err)
	}
	return try(t, hang, nil, v.tool, append([]string{name}, v.args...)...)
}

// sane is what holds for every tool and every input: it ends by itself, soon and small, with a status of the manual, and
// a message of one line for each that is not 0.
func sane(r *tools.Result, peak int64) string {
	switch {
	case r.Status > 4:
		return fmt.Sprintf("status %d: %.2000s", r.Status, r.Stderr)
	case bytes.Contains(r.Stderr, []byte("goroutine ")) || bytes.Contains(r.Stderr, []byte("panic")):
		return fmt.Sprintf("it crashed: %.2000s", r.Stderr)
	case r.CPU > busy:
		return fmt.Sprintf("it took %v of CPU", r.CPU)
	case r.PeakBytes > peak:
		return fmt.Sprintf("it took %d MiB of memory", r.PeakBytes>>20)
	case r.Status != 0 && len(bytes.TrimSpace(r.Stderr)) == 0:
		return fmt.Sprintf("status %d and no message", r.Status)
	}
	return ""
}

// problem compares a tool's result with what is expected; "": nothing is wrong.
func (v *variant) problem(c *captured, d *damaged, r *expected, got *tools.Result) string {
	if wrong := sane(got, peak); wrong != "" {
		return wrong
	}
	want := r.status
	if v.summary() && r.silent && got.Status == 0 {
		want = 0
	}
	if got.Status != want {
		return fmt.Sprintf("status %d, want %d: %s", got.Status, want, got.Stderr)
	}
	if want == 4 && !bytes.Contains(got.Stderr, []byte("damaged")) {
		return fmt.Sprintf("the message does not speak of damage: %s", got.Stderr)
	}
	if want == 1 {
		if !bytes.Contains(got.Stderr, []byte("not a wprof stream")) || len(got.Stdout) > 0 {
			return fmt.Sprintf("%d bytes of output and the message %q of what is no stream", len(got.Stdout), got.Stderr)
		}
		return ""
	}
	return v.check(c, r, got.Stdout)
}

func checkText(_ *captured, _ *expected, out []byte) string {
	if len(out) == 0 {
		return "it says nothing"
	}
	return ""
}

// checkStream checks a stream that must be sound and have the events of all whole blocks.
func checkStream(c *captured, r *expected, out []byte) string {
	var findings []string
	if _, err := check.Stream(bytes.NewReader(out), func(f check.Finding) { findings = append(findings, f.Text) }); err != nil || len(findings) > 0 {
		return fmt.Sprintf("its output is not sound: %v %q", err, findings)
	}
	got, err := readEvents(out)
	if err != nil {
		return err.Error()
	}
	return r.problem(c.pieces, got)
}

// readEvents reads the events of a sound stream, block by block.
func readEvents(stream []byte) (all []format.Event, err error) {
	blocks := format.NewBlockReader(bytes.NewReader(stream))
	for {
		b, err := blocks.Next()
		if err != nil {
			return all, nil //nolint:nilerr // the end; that the stream is sound has been checked
		}
		if b.Header.Type != format.BlockEvents {
			continue
		}
		if err := format.DecodeEvents(b, func(e *format.Event) error {
			c := *e
			c.Data = bytes.Clone(e.Data)
			all = append(all, c)
			return nil
		}); err != nil {
			return nil, err
		}
	}
}

// checkTrace checks a trace that must be well-formed, draw a loss wherever events are missing, and have the wakings of all
// whole blocks.
func checkTrace(c *captured, r *expected, out []byte) string {
	trace := new(schema.Trace)
	if err := proto.Unmarshal(out, trace); err != nil {
		return "the trace is not well-formed: " + err.Error()
	}
	if len(trace.Packet) == 0 {
		return "the trace is empty"
	}
	if got, want := slicesNamed(trace, "lost: damage"), r.gaps(c.pieces); got < want {
		return fmt.Sprintf("the trace shows damage %d times, but events are missing in %d places", got, want)
	}
	wakings := 0
	for _, e := range eventsOf(r.whole) {
		if e.Kind == format.KindWaking && e.Flags&format.FlagObject != 0 {
			wakings++ // the wakee is visible
		}
	}
	if got := wakingsIn(trace); got != wakings {
		return fmt.Sprintf("the trace has %d wakings, want %d", got, wakings)
	}
	return ""
}

// checkFolded checks folded stacks, of which every line is a stack and a weight. There are none where the threads'
// definitions are lost.
func checkFolded(_ *captured, _ *expected, out []byte) string {
	for line := range bytes.Lines(out) {
		end := bytes.LastIndexByte(line, ' ')
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line[end+1:])), 10, 64)
		if err != nil || n <= 0 || end <= 0 {
			return fmt.Sprintf("the line %q is no stack with a weight", line)
		}
	}
	return ""
}

// slicesNamed counts the slices of a name.
func slicesNamed(trace *schema.Trace, name string) (n int) {
	type interned struct {
		sequence uint32
		id       uint64
	}
	names := map[interned]string{}
	for _, p := range trace.Packet {
		sequence := p.GetTrustedPacketSequenceId()
		for _, one := range p.GetInternedData().GetEventNames() {
			names[interned{sequence, one.GetIid()}] = one.GetName()
		}
		e := p.GetTrackEvent()
		if e.GetType() == schema.TrackEvent_TYPE_SLICE_BEGIN && names[interned{sequence, e.GetNameIid()}] == name {
			n++
		}
	}
	return n
}

// wakingsIn counts the wakings of a trace, in both forms.
func wakingsIn(trace *schema.Trace) (n int) {
	for _, p := range trace.Packet {
		bundle := p.GetFtraceEvents()
		n += len(bundle.GetCompactSched().GetWakingTimestamp())
		for _, e := range bundle.GetEvent() {
			if e.GetSchedWaking() != nil {
				n++
			}
		}
	}
	return n
}

// checkDump checks the lines of events against those of the intact stream. Times count from the opening, which a lost
// header takes along, so they are compared only while no header is lost.
func checkDump(c *captured, r *expected, out []byte) string {
	if r.moved {
		return checkText(c, r, out)
	}
	isWhole := map[int]bool{}
	for _, p := range r.whole {
		isWhole[p.at] = true
	}
	times := regexp.MustCompile(`^\s+\S+| (since|woken|own|from)=\S+`)
	var want []string
	timed := true
	for _, p := range c.pieces {
		if p.typ == 1 {
			timed = timed && isWhole[p.at]
		}
		if !isWhole[p.at] {
			continue
		}
		for _, line := range p.lines {
			want = append(want, comparable(line, timed, times))
		}
	}
	got := eventLines(out)
	if len(got) != len(want) {
		return fmt.Sprintf("%d events in the text, want %d", len(got), len(want))
	}
	for i := range want {
		if line := comparable(got[i], !strings.HasPrefix(want[i], "?"), times); line != want[i] {
			return fmt.Sprintf("got %q, want %q", line, want[i])
		}
	}
	return ""
}

// comparable is a line of the text form, without its times unless they mean something.
func comparable(line string, timed bool, times *regexp.Regexp) string {
	if timed {
		return line
	}
	return "?" + times.ReplaceAllString(line, "")
}

// eventLines are the lines of a dump that stand for events.
func eventLines(text []byte) []string {
	var all []string
	for line := range strings.Lines(string(text)) {
		if len(line) > 3 && line[:2] == "  " && strings.ContainsRune("+-0123456789", rune(line[2])) {
			all = append(all, strings.TrimSuffix(line, "\n"))
		}
	}
	return all
}

func event(e *format.Event) string {
	return fmt.Sprintf("%d cpu%d kind %d flags %#x task %d %v", e.Time, int32(e.CPU), e.Kind, e.Flags, e.Task, e.Args)
}

// newCaptured dissects a stream and takes the lines of its events from wprof-info.
func newCaptured(t *testing.T, stream []byte) *captured {
	t.Helper()
	c := &captured{stream: stream, pieces: dissect(t, stream)}
	name := filepath.Join(t.TempDir(), "intact.wprof")
	if err := os.WriteFile(name, stream, 0o600); err != nil {
		t.Fatal(err)
	}
	lines := eventLines(tools.Run(t, "wprof-info", "--dump", name))
	if n := len(eventsOf(c.pieces)); n != len(lines) {
		t.Fatalf("%d lines for %d events", len(lines), n)
	}
	for i := range c.pieces {
		p := &c.pieces[i]
		p.lines, lines = lines[:len(p.events)], lines[len(p.events):]
	}
	return c
}
