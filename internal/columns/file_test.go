package columns

import (
	"bytes"
	"crypto/sha512"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"wprof/internal/records"
)

// anyRow is a row with a column of each type.
type anyRow struct {
	long   int64
	unsign uint64
	short  int32
	text   string
	double float64
	is     bool
	list   []string
	has    bool
}

func anyFields() []field[anyRow] {
	long64 := func(r *anyRow) (int64, bool) { return r.long, r.has }
	return []field[anyRow]{
		integer("long", func(r *anyRow) int64 { return r.long }),
		optionalInteger("optional_long", long64),
		optional("unsigned", parquet.Uint(64), long, func(r *anyRow) (int64, bool) { return int64(r.unsign), r.has }),
		requiredShort("short", func(r *anyRow) int64 { return int64(r.short) }),
		optionalShort("optional_short", func(r *anyRow) (int64, bool) { return int64(r.short), r.has }),
		text("text", func(r *anyRow) string { return r.text }),
		group("inner", optionalText("optional_text", func(r *anyRow) (string, bool) { return r.text, r.has })),
		word("word", []string{"no", "yes"}, func(r *anyRow) int64 { return r.long & 1 }),
		optional("double", parquet.Leaf(parquet.DoubleType), long, func(r *anyRow) (int64, bool) { return int64(math.Float64bits(r.double)), r.has }),
		flag("is", func(r *anyRow) bool { return r.is }),
		texts("list", func(r *anyRow) []string { return r.list }),
		optionalInteger("never", func(*anyRow) (int64, bool) { return 0, false }),
	}
}

func (r *anyRow) asJSON(t *testing.T) string {
	or := func(v any) any {
		if r.has {
			return v
		}
		return nil
	}
	return asJSON(t, map[string]any{
		"long": r.long, "optional_long": or(r.long), "unsigned": or(int64(r.unsign)), // which the library does not read as unsigned
		"short": r.short, "optional_short": or(r.short),
		"text": r.text, "inner": map[string]any{"optional_text": or(r.text)}, "word": []string{"no", "yes"}[r.long&1],
		"double": or(r.double), "is": r.is, "list": append([]string{}, r.list...), "never": nil,
	})
}

// Columns of all types hold their values over several pages and row groups, and when they outgrow their dictionaries.
func TestColumnsHoldTheirValues(t *testing.T) {
	for _, c := range []struct {
		distinct, rows uint64
		groups         int
	}{{1, 600, 1}, {7, 600, 1}, {5000, 1600, 1}, {1 << 50, 9000, 2}} {
		out, want := make(files), []string(nil)
		w, _ := out.create("rows" + Extension)
		f, err := newFile(w, "rows", pageLimits{page: 4 << 10, dictionary: 1 << 10}, &shared{rows: 1 << 40}, anyFields())
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.rows {
			n := int64(i * 0x9e3779b97f4a7c15 % c.distinct)
			row := anyRow{
				long: n<<40 - 1<<50, unsign: uint64(-n), short: int32(n - 3), text: fmt.Sprintf("%x", sha512.Sum512([]byte(fmt.Sprint(n)))), double: float64(n) / 3, is: n%3 == 1, has: n%5 != 2,
			}
			for k := range n % 4 {
				row.list = append(row.list, fmt.Sprint(n, " ", k))
			}
			to, err := f.add(1 << 10)
			if err != nil {
				t.Fatal(err)
			}
			*to = row
			want = append(want, row.asJSON(t))
		}
		f.end()
		if err := f.close(); err != nil {
			t.Fatal(err)
		}
		if got := out.rows(t, "rows"); !slices.Equal(got, want) {
			at := 0
			for at < min(len(got), len(want)) && got[at] == want[at] {
				at++
			}
			t.Fatalf("%d values: %d rows, want %d; they differ from row %d on: %v, want %v", c.distinct, len(got), len(want), at, got[at:at+1], want[at:at+1])
		}
		if got := len(out.rowGroups(t, "rows")); got != c.groups {
			t.Errorf("%d values: %d row groups, want %d", c.distinct, got, c.groups)
		}
	}
}

// rowGroups returns the descriptions of a file's row groups.
func (f files) rowGroups(t *testing.T, name string) []format.RowGroup {
	t.Helper()
	file := f[name+Extension].Bytes()
	opened, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return opened.Metadata().RowGroups
}

// Engines skip row groups by the bounds of signed numbers, and by the counts of nulls.
func TestRowGroupsHaveBounds(t *testing.T) {
	for _, distinct := range []int64{10, 3000} {
		out := make(files)
		w, _ := out.create("rows" + Extension)
		f, err := newFile(w, "rows", pageLimits{page: 4 << 10, dictionary: 1 << 10}, &shared{}, anyFields())
		if err != nil {
			t.Fatal(err)
		}
		for i := range distinct {
			to, err := f.add(0)
			if err != nil {
				t.Fatal(err)
			}
			*to = anyRow{long: -i, short: int32(i) - 5, has: i%2 == 0}
		}
		f.end()
		if err := f.close(); err != nil {
			t.Fatal(err)
		}
		groups := out.rowGroups(t, "rows")
		if len(groups) != 1 {
			t.Fatalf("%d row groups, want 1", len(groups))
		}
		check := func(column int, min, max []byte, nulls int64) {
			got := groups[0].Columns[column].MetaData
			want := format.Statistics{MinValue: min, MaxValue: max, NullCount: nulls}
			if s := got.Statistics; !bytes.Equal(s.MinValue, want.MinValue) || !bytes.Equal(s.MaxValue, want.MaxValue) || s.NullCount != nulls {
				t.Errorf("%d rows, %s: %+v, want %+v", distinct, got.PathInSchema, s, want)
			}
		}
		long := func(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }
		short := func(n int64) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }
		half := distinct / 2
		check(0, long(1-distinct), long(0), 0)
		check(1, long(2-distinct), long(0), half)
		check(2, nil, nil, half)
		check(3, short(-5), short(distinct-6), 0)
		check(4, short(-5), short(distinct-7), half)
		check(11, nil, nil, distinct)
	}
}

// The indices of a task are those of the row group at hand, and none once a dictionary is too large.
func TestTasksKeepTheirNames(t *testing.T) {
	out, want := make(files), []string(nil)
	w, _ := out.create("rows" + Extension)
	task := func(e *event) *records.Task { return e.Tasks[0] }
	fields := []field[event]{taskGroup("task", true, false, task), text("text", func(e *event) string { return e.Text })}
	f, err := newFile(w, "rows", pageLimits{page: 4 << 10, dictionary: 1 << 10}, &shared{rows: 1 << 40}, fields)
	if err != nil {
		t.Fatal(err)
	}
	tasks := make(map[int]*records.Task)
	for i := range 20_000 {
		// Few tasks at first, so that only the text ends the row group; then more than the dictionaries take.
		n := i / 7 % 5
		if i > 15_000 {
			n = i
		}
		if tasks[n] == nil {
			tasks[n] = &records.Task{Number: int64(n), TID: int32(n), PID: 1, Comm: fmt.Sprint("c", n), PComm: "p", Idle: n == 3}
		}
		k := tasks[n]
		e := event{}
		e.Tasks[0], e.Text = k, fmt.Sprintf("%x", sha512.Sum512([]byte(fmt.Sprint(i))))
		if n == 4 {
			e.Tasks[0], k = nil, nil
		}
		to, err := f.add(1 << 10)
		if err != nil {
			t.Fatal(err)
		}
		*to = e
		want = append(want, asJSON(t, map[string]any{"task": taskOf(k, k != nil), "text": e.Text}))
	}
	f.end()
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	if got := len(out.rowGroups(t, "rows")); got < 2 {
		t.Errorf("%d row groups, want several", got)
	}
	for i, got := range out.rows(t, "rows") {
		if got != want[i] {
			t.Fatalf("row %d: %s, want %s", i, got, want[i])
		}
	}
}
