package columns

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"wprof/format"
	"wprof/internal/records"
	"wprof/internal/timeline"
	"wprof/internal/timeline/simulate"
	"wprof/test/fromtext"
	"wprof/test/race"
)

// files are the files that Write has written, by name.
type files map[string]*bytes.Buffer

func (f files) create(name string) (io.Writer, error) {
	f[name] = new(bytes.Buffer)
	return f[name], nil
}

// write writes a stream and returns the files.
func write(t testing.TB, stream []byte, o Options) (files, Result, error) {
	t.Helper()
	r, err := format.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all := make(files)
	done, err := Write(r, all.create, o)
	return all, done, err
}

// rows returns the rows of a file, each as JSON.
func (f files) rows(t testing.TB, name string) (all []string) {
	t.Helper()
	file := f[name+Extension]
	if file == nil {
		t.Fatalf("there is no %s", name)
	}
	opened, err := parquet.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	in := parquet.NewGenericReader[any](opened)
	defer in.Close()
	rows := make([]any, 100)
	for {
		n, err := in.Read(rows)
		for _, row := range rows[:n] {
			all = append(all, asJSON(t, readable(row)))
		}
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		clear(rows)
	}
}

// readable replaces the library's bytes by strings: the values of maps.
func readable(value any) any {
	switch v := value.(type) {
	case []byte:
		return string(v)
	case map[string]any:
		for key := range v {
			v[key] = readable(v[key])
		}
	}
	return value
}

func asJSON(t testing.TB, row any) string {
	t.Helper()
	b, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// expected returns the rows of events and stacks that a stream should give, built field by field from the table of records.
func expected(t testing.TB, stream []byte, o Options) map[string][]string {
	t.Helper()
	r, err := format.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	kinds := records.Kinds()
	want := make(map[string][]string)
	m := records.NewMaker(r, records.Options{Kinds: o.Kinds}, func(rec *records.Record) error {
		k := &kinds[rec.Kind-1]
		want[k.Name] = append(want[k.Name], asJSON(t, eventRow(k, rec, o)))
		return nil
	})
	m.Stacks().OnSectionDone(func() {
		for s := range m.Stacks().All() {
			want["stacks"] = append(want["stacks"], asJSON(t, stackRowOf(s)))
			for i := range s.Frames {
				want["frames"] = append(want["frames"], asJSON(t, frameRowOf(s, i)))
			}
		}
	})
	if err := timeline.Visit(r, m); err != nil {
		t.Fatal(err)
	}
	return want
}

func eventRow(k *records.KindInfo, rec *records.Record, o Options) map[string]any {
	row := map[string]any{"ts": rec.Time, "cpu": int64(rec.CPU)}
	if rec.CPU == records.AllCPUs {
		row["cpu"] = nil
	}
	if o.NUMA {
		row["numa"] = nil
	}
	for i, f := range k.Fields {
		has := !rec.Lacks(i)
		if o.NoStacks && f.Type == records.TypeStack {
			continue
		}
		row[f.Name] = nil
		switch {
		case f.Type == records.TypeTask, f.Type == records.TypeRenamed:
			row[f.Name] = taskOf(rec.Tasks[f.Slot], has)
			if f.Type == records.TypeRenamed {
				row[f.Name].(map[string]any)["old_comm"] = rec.Text
			}
		case f.Type == records.TypeNumbers:
			row[f.Name] = []any{}
		case !has:
		case f.Type == records.TypeLabel:
			row[f.Name] = rec.Labels[f.Slot]
		case f.Type == records.TypeText:
			row[f.Name] = rec.Text
		case f.Type == records.TypeWord:
			row[f.Name] = f.Words[rec.Values[f.Slot]]
		default:
			row[f.Name] = rec.Values[f.Slot]
		}
	}
	return row
}

func taskOf(k *records.Task, has bool) map[string]any {
	if !has {
		return map[string]any{"tid": nil, "pid": nil, "comm": nil, "pcomm": nil}
	}
	row := map[string]any{"tid": k.TID, "pid": k.PID, "comm": k.Comm, "pcomm": k.PComm}
	if k.Idle {
		row["tid"] = nil
	}
	return row
}

func stackRowOf(s *records.Stack) map[string]any {
	names, sources, modules, known := []string{}, []string{}, []string{}, false
	for i := range s.Frames {
		f := &s.Frames[i]
		names = append(names, string(f.AppendName(nil)))
		sources = append(sources, string(f.AppendSource(nil)))
		modules = append(modules, f.Module)
		known = known || f.File != ""
	}
	if !known {
		sources = []string{}
	}
	return map[string]any{"id": s.ID, "frames": names, "srcs": sources, "modules": modules, "cut": s.Cut}
}

func frameRowOf(s *records.Stack, i int) map[string]any {
	f := &s.Frames[i]
	or := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	row := map[string]any{
		"stack_id": s.ID, "position": i, "place": []string{"user", "kernel", "python", "awaiting"}[f.Place], "function": or(f.Function),
		"offset": f.Offset, "inlined": f.Inlined, "file": or(f.File), "line": nil, "module": or(f.Module),
	}
	if f.Line != 0 {
		row["line"] = f.Line
	}
	return row
}

// compareRows compares the files of a stream with the expected rows.
func compareRows(t *testing.T, stream []byte, o Options) (files, Result) {
	t.Helper()
	got, done, err := write(t, stream, o)
	if err != nil {
		t.Fatal(err)
	}
	want := expected(t, stream, o)
	events := int64(0)
	for name := range got {
		name = strings.TrimSuffix(name, Extension)
		rows := got.rows(t, name)
		if name == "tasks" || name == "session" {
			continue
		}
		if name != "stacks" && name != "frames" {
			events += int64(len(rows))
		}
		if len(rows) != len(want[name]) {
			t.Errorf("%s has %d rows, want %d", name, len(rows), len(want[name]))
			continue
		}
		for i, row := range rows {
			if row != want[name][i] {
				t.Fatalf("%s, row %d: %s, want %s", name, i, row, want[name][i])
			}
		}
	}
	if events != done.Events {
		t.Errorf("%d rows of events, %d reported", events, done.Events)
	}
	return got, done
}

func TestRowsAreTheRecords(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			o := simulate.Options{Seed: seed, CPUs: 1 + int(seed%5), Threads: 12, Losses: seed%2 == 1, Epochs: seed%3 > 0, SilentRenames: true}
			stream := simulate.Stream(t, o, 6000)
			got, _ := compareRows(t, stream, Options{NoStacks: seed == 4, NUMA: seed == 5})
			if seed == 4 && (got["stacks.parquet"] != nil || got["frames.parquet"] != nil) {
				t.Error("stacks were written, and should not be")
			}
			compareTasks(t, got, stream)
		})
	}
}

// compareTasks expects a row for each task that occurs in an event.
func compareTasks(t *testing.T, got files, stream []byte) {
	t.Helper()
	r, err := format.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var want []string
	described := make(map[int64]bool) // by number: a task that is described again keeps it
	kinds := records.Kinds()
	var m *records.Maker
	m = records.NewMaker(r, records.Options{}, func(rec *records.Record) error {
		for i, f := range kinds[rec.Kind-1].Fields {
			if f.Type != records.TypeTask && f.Type != records.TypeRenamed || rec.Lacks(i) {
				continue
			}
			if k := rec.Tasks[f.Slot]; !described[k.Number] {
				described[k.Number] = true
				want = append(want, asJSON(t, taskRowOf(k, rec.Time, m.Command(k), m.Cgroup(k))))
			}
		}
		return nil
	})
	if err := timeline.Visit(r, m); err != nil {
		t.Fatal(err)
	}
	rows := got.rows(t, "tasks")
	if len(rows) != len(want) {
		t.Fatalf("%d tasks, want %d", len(rows), len(want))
	}
	for i := range rows {
		if rows[i] != want[i] {
			t.Fatalf("task %d: %s, want %s", i, rows[i], want[i])
		}
	}
}

func taskRowOf(k *records.Task, first int64, command, cgroup string) map[string]any {
	row := taskOf(k, true)
	row["number"], row["first_ts"], row["kernel"], row["idle"] = k.Number, first, k.Kernel, k.Idle
	row["ppid"], row["start"], row["command"] = nil, nil, nil
	if k.PPID != 0 {
		row["ppid"] = k.PPID
	}
	if k.PID != 0 {
		row["start"] = k.Start
	}
	for _, name := range []string{"cgroup", "runtime", "container", "pod", "unit", "ns_tid", "ns_pid"} {
		row[name] = nil
	}
	if cgroup != "" {
		row["cgroup"] = cgroup
	}
	if command != "" {
		row["command"] = command
	}
	return row
}

func TestOnlyRequestedKindsAreWritten(t *testing.T) {
	stream := simulate.Stream(t, simulate.Options{Seed: 2, CPUs: 2, Threads: 8}, 2000)
	got, _ := compareRows(t, stream, Options{Kinds: []records.Kind{records.Waking, records.Exec}})
	if len(got) != 6 || got["waking.parquet"] == nil || got["exec.parquet"] == nil {
		t.Errorf("%d files, want waking, exec, stacks, frames, tasks, session", len(got))
	}
}

// Columns are in the order of the table, with the types that docs/sql.md lists.
func TestSchemaFollowsTheTable(t *testing.T) {
	got, _, err := write(t, simulate.Stream(t, simulate.Options{CPUs: 1, Threads: 2}, 10), Options{NUMA: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range records.Kinds() {
		file := got[k.Name+Extension]
		if (file != nil) != k.IsAvailable() {
			t.Errorf("%s: has a file: %v, has a source: %v", k.Name, file != nil, k.IsAvailable())
		}
		if file == nil {
			continue
		}
		opened, err := parquet.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range opened.Schema().Fields() {
			names = append(names, f.Name()+" "+typeName(f))
		}
		want := []string{"ts required INT(64,true)", "cpu optional INT(32,true)", "numa optional INT(32,true)"}
		for i := range k.Fields {
			want = append(want, k.Fields[i].Name+" "+columnType(&k.Fields[i]))
		}
		if g, w := strings.Join(names, "\n"), strings.Join(want, "\n"); g != w {
			t.Errorf("%s has the columns\n%s\nwant\n%s", k.Name, g, w)
		}
	}
}

func columnType(f *records.Field) string {
	presence := "required "
	if f.Opt {
		presence = "optional "
	}
	switch f.Type {
	case records.TypeTask:
		return "required group tid pid comm pcomm"
	case records.TypeRenamed:
		return "required group tid pid comm pcomm old_comm"
	case records.TypeNumbers:
		return "required LIST"
	case records.TypeText, records.TypeWord, records.TypeArgs, records.TypeLabel:
		return presence + "STRING"
	}
	if f.Short {
		return presence + "INT(32,true)"
	}
	return presence + "INT(64,true)"
}

func typeName(f parquet.Field) string {
	presence := "required "
	if f.Optional() {
		presence = "optional "
	}
	if f.Leaf() {
		return presence + f.Type().String()
	}
	if t := f.Type(); t != nil && t.LogicalType() != nil {
		return presence + "LIST"
	}
	presence += "group"
	for _, inner := range f.Fields() {
		presence += " " + inner.Name()
	}
	return presence
}

func TestSameStreamGivesSameFiles(t *testing.T) {
	stream := simulate.Stream(t, simulate.Options{Seed: 3, CPUs: 4, Threads: 20, Epochs: true, Losses: true}, 20_000)
	first, _, err := write(t, stream, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		again, _, err := write(t, stream, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for name, file := range first {
			if !bytes.Equal(file.Bytes(), again[name].Bytes()) {
				t.Errorf("%s is another one the next time", name)
			}
		}
	}
}

// With any damage, the files are complete and have what can be read.
func TestDamagedStreamsGiveWholeFiles(t *testing.T) {
	stream := simulate.Stream(t, simulate.Options{Seed: 1, CPUs: 2, Threads: 8, Epochs: true}, 3000)
	full, _, err := write(t, stream, Options{})
	if err != nil {
		t.Fatal(err)
	}
	most := len(full.rows(t, "switch"))
	places := 1 + race.Runs(24)
	for i := 1; i < places; i++ {
		at := len(stream) * i / places
		cut, _ := compareRows(t, stream[:at], Options{})
		if got := len(cut.rows(t, "switch")); got >= most {
			t.Errorf("cut at byte %d: %d switches, the whole stream has %d", at, got, most)
		}
		broken := bytes.Clone(stream)
		broken[at] ^= 0x40
		compareRows(t, broken, Options{})
	}
}

// A stream that is refused at a section, because another recording overlaps it, gives the rows before that.
func TestErrorsOfTheStreamComeBackAfterWholeFiles(t *testing.T) {
	one := simulate.Stream(t, simulate.Options{Seed: 1, CPUs: 2, Threads: 8}, 1000)
	want, _, err := write(t, one, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := format.NewReader(io.MultiReader(bytes.NewReader(one), bytes.NewReader(one)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := make(files)
	if _, err := Write(r, got.create, Options{}); !errors.Is(err, format.ErrOverlap) {
		t.Fatalf("error %v, want %v", err, format.ErrOverlap)
	}
	for name := range want {
		name = strings.TrimSuffix(name, Extension)
		if w, g := want.rows(t, name), got.rows(t, name); len(w) != len(g) {
			t.Errorf("%s has %d rows, want %d", name, len(g), len(w))
		}
	}
}

// failing is a file that accepts a number of bytes.
type failing struct{ left int }

var errFull = errors.New("the disk is full")

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestErrorsOfWritingEndIt(t *testing.T) {
	stream := simulate.Stream(t, simulate.Options{Seed: 1, CPUs: 2, Threads: 8}, race.Runs(3000))
	whole, _, err := write(t, stream, Options{})
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(whole))
	for _, broken := range names[:race.Runs(len(names))] {
		_, err := Write(reader(t, stream), func(name string) (io.Writer, error) {
			if name == broken {
				return nil, errFull
			}
			return io.Discard, nil
		}, Options{})
		if !errors.Is(err, errFull) {
			t.Errorf("%s cannot be made: error %v, want %v", broken, err, errFull)
		}
		for _, left := range []int{0, 3, whole[broken].Len() - 1} {
			r, err := format.NewReader(bytes.NewReader(stream))
			if err != nil {
				t.Fatal(err)
			}
			_, err = Write(r, func(name string) (io.Writer, error) {
				if name == broken {
					return &failing{left}, nil
				}
				return io.Discard, nil
			}, Options{})
			if err != errFull {
				t.Errorf("%s takes %d bytes: error %v, want %v", broken, left, err, errFull)
			}
			r.Close()
		}
	}
}

func reader(t testing.TB, stream []byte) *format.Reader {
	t.Helper()
	r, err := format.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// Each probe has tables of its own, in which what could not be read is null.
func TestProbesHaveTables(t *testing.T) {
	got, _, err := write(t, fromtext.Stream(t, `
		section host=h boot_id=b open=1
		frame 1
		  line function="main"
		stack 1 frames=1
		eventtype 1 name="malloc" group="probe" probe="m*" entry
		  field "stack" type=stack
		  field "size" type=uint
		  field "path" type=string
		  field "all" type=uint list
		  field "unread" type=uint hint=unread
		eventtype 2 name="calloc" group="probe" probe="m*" entry
		  field "stack" type=stack
		  field "size" type=uint
		  field "path" type=string
		  field "all" type=uint list
		  field "unread" type=uint hint=unread
		eventtype 3 name="malloc" group="probe" shape=span probe="m*"
		+2 cpu0 typed 0 type=1 .stack=1 .size=7 .path="/a" .all=1,2 .unread=0
		+3 cpu0 typed 0 type=2 .stack=0 .size=0 .path="" .all= .unread=14
		+5 cpu0 typed 0 type=3 start=+2
		end close=+10
	`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows := got.rows(t, "utrace_entry_m_")
	for i, want := range []string{`"args":{"all":"[1,2]","path":"/a","size":7}`, `"args":{"all":null,"path":null,"size":null}`} {
		if len(rows) != 2 || !strings.Contains(rows[i], want) {
			t.Fatalf("%q do not have %s", rows, want)
		}
	}
	if !strings.Contains(rows[0], `"name":"malloc"`) || !strings.Contains(rows[1], `"name":"calloc"`) || !strings.Contains(rows[0], `"stack_id":1`) {
		t.Errorf("%q", rows)
	}
	if rows := got.rows(t, "utrace_exit_m_"); len(rows) != 1 || !strings.Contains(rows[0], `"dur":3`) {
		t.Errorf("%q", rows)
	}
}

// What counters have counted is a column of all that has counts, also beside the values of an event type.
func TestCountsAreColumns(t *testing.T) {
	got, _, err := write(t, fromtext.Stream(t, `
		section host=h boot_id=b open=1
		  counter name="cs" event="cs"
		  counter name="half" event="x" scale="0.5"
		task 2 tid=20 pid=20 comm="a" process_comm="a" start=5
		eventtype 1 name="softirq" group="irq" shape=span
		  field "delay" type=uint
		  field "counts" type=bytes hint=counts
		eventtype 2 name="each" group="pmu"
		  field "period" type=uint
		  field "counts" type=bytes hint=counts
		+2 cpu0 sample 2 stack=0 source=0 counts="\x05\x07"
		+3 cpu0 sample 2 stack=0 source=0
		+4 cpu0 typed 2 type=1 start=+3 .delay=7 .counts="\x01\x0b"
		+5 cpu0 typed 2 type=1 start=+3 .delay=8 .counts=""
		+6 cpu0 typed 2 type=2 .period=9 .counts="\x0d\x02"
		end close=+10
	`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"timer":         {`"pmus":[2,1.5]`, `"pmus":[]`},
		"typed_softirq": {`"pmus":[0,2.5]`, `"args":{"delay":8}`},
		"pmu_event":     {`"pmus":[6,0]`},
	} {
		rows := got.rows(t, name)
		for i := range want {
			if len(rows) != len(want) || !strings.Contains(rows[i], want[i]) {
				t.Errorf("%s: %q do not have %s", name, rows, want[i])
			}
		}
	}
}

// The session has the columns of the JSON header, also of how a recording was scheduled.
func TestSessionHasTheRequestedInstant(t *testing.T) {
	for text, want := range map[string]string{
		`prepare="+5s" activate="/10s" requested=-0.002`: `"activate":"/10s"`,
		``: `"activate":null`,
	} {
		got, _, err := write(t, fromtext.Stream(t, "section host=h boot_id=b open=1000000000 "+text+"\n clock monotonic=1000000000 realtime=1700000000502000000\nend close=+1s\n"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		rows := got.rows(t, "session")
		if len(rows) != 1 || !strings.Contains(rows[0], want) || text != "" && !strings.Contains(rows[0], `"requested_time":"2023-11-14T22:13:20.500000000Z"`) {
			t.Errorf("%s: %q, want %s", text, rows, want)
		}
	}
}
