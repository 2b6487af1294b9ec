package length

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"wprof/format"
)

// all expects every event again.
func all(out io.Reader) check {
	got := countStream(out)
	return func(w written) error {
		if err := got.sound(); err != nil {
			return err
		}
		if got.definitions < w.definitions || got.sections != w.sections {
			return fmt.Errorf("%d definitions in %d sections came out, %d in %d went in", got.definitions, got.sections, w.definitions, w.sections)
		}
		return sameKinds(got.kinds, w.kinds)
	}
}

// kept expects the events that the filter selects. States are the filter's own: it writes them for threads that begin to be kept, and for
// all at the edges of a range; and where a hidden thread takes over, it writes that a kept one leaves the CPU.
func kept(out io.Reader) check {
	got := countStream(out)
	return func(w written) error {
		if err := got.sound(); err != nil {
			return err
		}
		for _, k := range []format.Kind{format.KindCPULeft, format.KindStateCPU, format.KindStateThread} {
			got.kinds[k], w.selectedKinds[k] = 0, 0
		}
		return sameKinds(got.kinds, w.selectedKinds)
	}
}

func (c *counts) sound() error {
	switch {
	case c.err != nil:
		return c.err
	case c.events == 0:
		return errors.New("no event came out")
	}
	return nil
}

func sameKinds(got, want [format.MaxKind + 1]uint64) error {
	for kind := range got {
		if got[kind] != want[kind] {
			return fmt.Errorf("%d events of kind %d came out, want %d", got[kind], kind, want[kind])
		}
	}
	return nil
}

// isTrace counts the switches and wakings in Perfetto's columns, and walks through everything else.
func isTrace(out io.Reader) check {
	var switches, wakings, packets uint64
	in := bufio.NewReaderSize(out, 1<<20)
	var packet []byte
	var err error
	for err == nil {
		if packet, err = nextPacket(in, packet); err != nil {
			break
		}
		packets++
		compact := member(member(packet, 1), 4)
		switches += varints(member(compact, 1))
		wakings += varints(member(compact, 7))
	}
	_, _ = io.Copy(io.Discard, out)
	return func(w written) error {
		if !errors.Is(err, io.EOF) {
			return fmt.Errorf("after %d packets: %w", packets, err)
		}
		// Each section may add a switch a CPU, to begin with.
		if want := w.kinds[format.KindSwitch]; switches < want || switches > want+want/50+uint64(w.sections)*cpus {
			return fmt.Errorf("%d switches came out, %d went in", switches, want)
		}
		if want := w.kinds[format.KindWaking]; wakings != want {
			return fmt.Errorf("%d wakings came out, %d went in", wakings, want)
		}
		return nil
	}
}

// nextPacket reads the next packet of a trace; io.EOF at its end.
func nextPacket(in *bufio.Reader, packet []byte) ([]byte, error) {
	tag, err := in.ReadByte()
	if err != nil {
		return nil, err
	}
	if tag != 1<<3|byte(protowire.BytesType) {
		return nil, fmt.Errorf("byte %#x stands where a packet should begin", tag)
	}
	size, shift := 0, 0
	for {
		b, err := in.ReadByte()
		if err != nil {
			return nil, io.ErrUnexpectedEOF
		}
		size |= int(b&0x7f) << shift
		if shift += 7; b < 0x80 {
			break
		}
	}
	packet = slices.Grow(packet[:0], size)[:size]
	if _, err := io.ReadFull(in, packet); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return packet, nil
}

// member is the last field of that number in a message, if it is one with a length.
func member(message []byte, number protowire.Number) (found []byte) {
	for len(message) > 0 {
		field, typ, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil
		}
		size := protowire.ConsumeFieldValue(field, typ, message[n:])
		if size < 0 {
			return nil
		}
		if field == number && typ == protowire.BytesType {
			found, _ = protowire.ConsumeBytes(message[n:])
		}
		message = message[n+size:]
	}
	return found
}

// varints is how many of them there are in a packed field.
func varints(packed []byte) (n uint64) {
	for _, b := range packed {
		if b < 0x80 {
			n++
		}
	}
	return n
}

// isSummary expects the number of events as wprof-info prints it.
func isSummary(out io.Reader) check {
	text, err := io.ReadAll(out)
	return func(w written) error {
		if want := "events      " + grouped(w.events); err == nil && !bytes.Contains(text, []byte(want)) {
			return fmt.Errorf("the summary does not say %q: %s", want, text)
		}
		return err
	}
}

// grouped writes a number as 1,234,567.
func grouped(n uint64) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

func isJSON(out io.Reader) check {
	var summary struct {
		Recordings []struct {
			Events, Definitions, Lost uint64
			Kinds                     []struct {
				Kind   string
				Events uint64
			}
		}
	}
	err := json.NewDecoder(out).Decode(&summary)
	_, _ = io.Copy(io.Discard, out)
	return func(w written) error {
		if err != nil || len(summary.Recordings) != 1 {
			return fmt.Errorf("%d recordings: %w", len(summary.Recordings), err)
		}
		r := summary.Recordings[0]
		if r.Events != w.events || r.Definitions != w.definitions || r.Lost != w.lost {
			return fmt.Errorf("it says %d events, %d definitions, %d lost; there are %d, %d, %d", r.Events, r.Definitions, r.Lost, w.events, w.definitions, w.lost)
		}
		var got [format.MaxKind + 1]uint64
		for _, k := range r.Kinds {
			for _, info := range format.Kinds() {
				if info.Name == k.Kind {
					got[info.Kind] = k.Events
				}
			}
		}
		return sameKinds(got, w.kinds)
	}
}

func isSound(out io.Reader) check {
	text, err := io.ReadAll(out)
	return func(w written) error {
		if want := "sound: " + grouped(w.events) + " events"; err == nil && !strings.Contains(string(text), want) {
			return fmt.Errorf("it does not say %q: %s", want, text)
		}
		return err
	}
}

// isText counts the lines of events.
func isText(out io.Reader) check {
	var events uint64
	in := bufio.NewReaderSize(out, 1<<20)
	lineBegins := true
	var err error
	for err == nil {
		var line []byte
		line, err = in.ReadSlice('\n')
		if lineBegins && bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("+")) {
			events++
		}
		if lineBegins = !errors.Is(err, bufio.ErrBufferFull); !lineBegins {
			err = nil
		}
	}
	_, _ = io.Copy(io.Discard, out)
	return func(w written) error {
		if events != w.events {
			return fmt.Errorf("%d lines of events (%w), %d events", events, err, w.events)
		}
		return nil
	}
}

// isLines counts lines of JSON by kind.
func isLines(out io.Reader) check {
	kinds, stacks, count := map[string]uint64{}, int64(0), int64(-1)
	in := bufio.NewReaderSize(out, 1<<20)
	var wrong string
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			break
		}
		_, after, _ := bytes.Cut(line[:min(len(line), 60)], []byte(`,"t":"`))
		kind, _, isEvent := bytes.Cut(after, []byte(`"`))
		switch {
		case line[0] != '{' || line[len(line)-2] != '}':
			wrong = string(line)
		case isEvent:
			kinds[string(kind)]++
		case bytes.HasPrefix(line, []byte(`{"id":`)):
			stacks++
		default:
			var head struct {
				Count *int64 `json:"stack_cnt"`
			}
			if err := json.Unmarshal(line, &head); err != nil {
				wrong = string(line)
			}
			if head.Count != nil {
				count = *head.Count
			}
		}
	}
	_, _ = io.Copy(io.Discard, out)
	return func(w written) error {
		if wrong != "" {
			return fmt.Errorf("the line %q", wrong)
		}
		if count >= 0 && count != stacks {
			return fmt.Errorf("stack_cnt is %d, there are %d lines of stacks", count, stacks)
		}
		for name, kind := range map[string]format.Kind{
			"switch": format.KindSwitch, "waking": format.KindWaking, "wakeup_new": format.KindWakeupNew, "timer": format.KindSample,
			"fork": format.KindFork, "exec": format.KindExec, "task_rename": format.KindRename, "task_exit": format.KindExit,
			"task_free": format.KindFree, "lost": format.KindLost,
		} {
			if kinds[name] != w.kinds[kind] {
				return fmt.Errorf("%d lines of kind %s came out, %d events went in", kinds[name], name, w.kinds[kind])
			}
		}
		return nil
	}
}

// isFolded walks through folded stacks, of which every line is a stack and a weight.
func isFolded(out io.Reader) check {
	var lines uint64
	var wrong string
	in := bufio.NewScanner(out)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		lines++
		line := in.Text()
		if n, err := strconv.ParseInt(line[strings.LastIndexByte(line, ' ')+1:], 10, 64); err != nil || n <= 0 {
			wrong = line
		}
	}
	_, _ = io.Copy(io.Discard, out)
	return func(written) error {
		switch {
		case in.Err() != nil:
			return in.Err()
		case lines == 0:
			return errors.New("no stack came out")
		case wrong != "":
			return fmt.Errorf("%q is no stack with a weight", wrong)
		}
		return nil
	}
}

// isPage holds a page that must be whole.
func isPage(out io.Reader) check {
	const end = "</html>\n"
	var last []byte
	b := make([]byte, 64<<10)
	for {
		n, err := out.Read(b)
		last = append(last, b[:n]...)
		last = last[max(0, len(last)-len(end)):]
		if err != nil {
			break
		}
	}
	return func(written) error {
		if string(last) != end {
			return fmt.Errorf("the page ends with %q", last)
		}
		return nil
	}
}

// isProfile expects a profile for the Firefox Profiler that has at least as many samples as there were switches.
func isProfile(out io.Reader) check {
	const begin = `"samples":{"weightType":"tracing-ms","length":`
	samples, last := uint64(0), ""
	in := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := in.ReadSlice('\n') // the first of a part of a column that does not fit
		if rest, is := bytes.CutPrefix(line, []byte(begin)); is {
			n, _ := strconv.ParseUint(string(bytes.TrimSuffix(rest, []byte(",\n"))), 10, 64)
			samples += n
		}
		if len(line) > 0 {
			last = string(line[max(0, len(line)-100):])
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
	}
	return func(w written) error {
		switch {
		case !strings.HasSuffix(last, "}}]}\n"):
			return fmt.Errorf("the profile ends with %q", last)
		case samples < w.events/2:
			return fmt.Errorf("%d samples for %d events", samples, w.events)
		}
		return nil
	}
}

// isChrome expects an event a line, and at least as many of them as there were switches.
func isChrome(out io.Reader) check {
	lines, wrong, last := uint64(0), "", ""
	in := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			break
		}
		lines++
		last = string(line)
		if isEvent := bytes.HasPrefix(line, []byte(`{"ph":`)); isEvent && !json.Valid(bytes.TrimSuffix(line, []byte(",\n"))) {
			wrong = last
		}
	}
	return func(w written) error {
		switch {
		case wrong != "":
			return fmt.Errorf("a line is no event: %s", wrong)
		case !strings.HasSuffix(strings.TrimSpace(last), "}"):
			return fmt.Errorf("the trace ends with %q", last)
		case lines < w.events/2:
			return fmt.Errorf("%d lines for %d events", lines, w.events)
		}
		return nil
	}
}
