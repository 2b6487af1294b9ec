//go:build linux

package sql

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"wprof/format"
	"wprof/internal/records"
	"wprof/test/tools"
)

// TestRowsAreTheLines compares every row of every file, as DuckDB reads it, with the line of the same event, stack or header,
// field by field, and the numbers of rows with wprof-info's.
func TestRowsAreTheLines(t *testing.T) {
	capture := record(t, "-M", "why=a test")
	dir := t.TempDir()
	tools.Run(t, "wprof-json", "--parquet", filepath.Join(dir, "columns"), "-e", "numa", capture)
	lines := linesByKind(t, tools.Run(t, "wprof-json", "--time", "ns", "-e", "numa", capture))
	counts := counted(t, capture)
	for _, k := range records.Kinds() {
		if k.Source == 0 {
			continue
		}
		rows := rowsOf(t, dir, k.Name)
		if want := counts[format.Kinds()[slices.IndexFunc(format.Kinds(), func(f format.KindInfo) bool { return f.Kind == k.Source })].Name]; len(rows) != want {
			t.Errorf("%s has %d rows, wprof-info counts %d", k.Name, len(rows), want)
		}
		compareLines(t, k.Name, rows, lines[k.Name])
	}
	stacks := rowsOf(t, dir, "stacks")
	for _, row := range stacks {
		delete(row, "cut")
	}
	compareLines(t, "stacks", stacks, lines["stacks"])
	session := rowsOf(t, dir, "session")
	compareLines(t, "session", session, lines["header"])
	if len(lines["switch"]) < 1000 || len(stacks) < 20 || session[0]["metadata"] == nil {
		t.Errorf("%d switches, %d stacks and the metadata %v are too few", len(lines["switch"]), len(stacks), session[0]["metadata"])
	}
}

// linesByKind are all lines without what the columns lack: their kind, and what is empty.
func linesByKind(t *testing.T, text []byte) map[string][]map[string]any {
	t.Helper()
	all := make(map[string][]map[string]any)
	for raw := range bytes.Lines(text) {
		var l map[string]any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&l); err != nil {
			t.Fatal(err)
		}
		kind, _ := l["t"].(string)
		switch {
		case kind != "":
		case l["version"] != nil:
			kind = "header"
		default:
			kind = "stacks"
		}
		delete(l, "t")
		all[kind] = append(all[kind], present(l).(map[string]any))
	}
	return all
}

// rowsOf are the rows of a file without what is empty.
func rowsOf(t *testing.T, dir, name string) (rows []map[string]any) {
	t.Helper()
	a := runSQL(t, "duckdb", dir, []block{{Name: name, SQL: "SELECT * FROM 'columns/" + name + ".parquet'"}})[0]
	for _, values := range a.Rows {
		row := make(map[string]any)
		for i, column := range a.Columns {
			row[column] = values[i]
		}
		rows = append(rows, present(row).(map[string]any))
	}
	return rows
}

// present is a value without members that are null, or empty lists or objects; nil if nothing is left.
func present(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if v[key] = present(inner); v[key] == nil {
				delete(v, key)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
	}
	return value
}

func compareLines(t *testing.T, name string, rows, lines []map[string]any) {
	t.Helper()
	if len(rows) != len(lines) {
		t.Errorf("%s has %d rows, there are %d lines", name, len(rows), len(lines))
		return
	}
	for i := range rows {
		if !reflect.DeepEqual(rows[i], lines[i]) {
			t.Fatalf("%s, row %d: %v, the line has %v", name, i, rows[i], lines[i])
		}
	}
}

// counted are the events of a capture by kind, as wprof-info counts them.
func counted(t *testing.T, capture string) map[string]int {
	t.Helper()
	var about struct {
		Recordings []struct {
			Kinds []struct {
				Kind   string
				Events int
			}
		}
	}
	if err := json.Unmarshal(tools.Run(t, "wprof-info", "--json", capture), &about); err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]int)
	for _, k := range about.Recordings[0].Kinds {
		counts[k.Kind] = k.Events
	}
	return counts
}

// TestBrokenCapturesGiveWholeFiles cuts a capture and breaks it: status 4, and files that engines read.
func TestBrokenCapturesGiveWholeFiles(t *testing.T) {
	whole, err := os.ReadFile(record(t, "-a", "-f", sources, "-U", sleep))
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	for name, stream := range map[string][]byte{"cut": whole[:len(whole)*2/3], "flipped": flipped} {
		dir := t.TempDir()
		folder := filepath.Join(dir, "columns")
		if r := tools.Try(t, time.Minute, stream, "wprof-json", "--parquet", folder); r.Status != 4 || len(r.Stderr) == 0 {
			t.Errorf("%s: status %d: %s", name, r.Status, r.Stderr)
		}
		blocks, _ := readPage(t)
		for _, engine := range []string{"duckdb", "chdb"} {
			runSQL(t, engine, dir, choose(blocks, func(b *block) bool { return b.kind == "" && hasTypedEvents(dir, b) }))
		}
		if rows := rowsOf(t, dir, "session"); len(rows) != 1 || rows[0]["lost"] != nil {
			t.Errorf("%s: session: %v, want one row without the number of lost events", name, rows)
		}
	}
}

// hasTypedEvents reports whether a capture has the typed events that a query reads: what a broken one has left may have none of a
// CPU that was idle, for which no file is written.
func hasTypedEvents(dir string, b *block) bool {
	for _, name := range regexp.MustCompile(`columns/typed_\w+\.parquet`).FindAllString(b.SQL, -1) {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// TestNoFileBeforeAllAreComplete converts what must not be converted, into a folder with something in it.
func TestNoFileBeforeAllAreComplete(t *testing.T) {
	folder := t.TempDir()
	old := filepath.Join(folder, "switch.parquet")
	if err := os.WriteFile(old, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := tools.Try(t, time.Minute, []byte("this is no stream"), "wprof-json", "--parquet", folder); r.Status != 1 {
		t.Errorf("status %d: %s", r.Status, r.Stderr)
	}
	left, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(old); len(left) != 1 || string(text) != "before" {
		t.Errorf("%d files, switch.parquet is %q (%v)", len(left), text, err)
	}
}

// TestFilesAreTheUsersOwn expects that no other user may read the files, and that their names are those of the page.
func TestFilesAreTheUsersOwn(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "columns")
	tools.Run(t, "wprof-json", "--parquet", folder, "--no-stacks", "-k", "exec,fork", record(t))
	left, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range left {
		names = append(names, e.Name())
		if info, err := e.Info(); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s has mode %v (%v)", e.Name(), info.Mode(), err)
		}
	}
	if want := []string{"exec.parquet", "fork.parquet", "session.parquet", "tasks.parquet"}; !slices.Equal(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
	f, err := os.Open(filepath.Join(folder, "fork.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if opened, err := parquet.OpenFile(f, info.Size()); err != nil || opened.NumRows() < 60 {
		t.Errorf("fork.parquet: %v", err)
	}
}
