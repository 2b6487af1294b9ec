package engine

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Row is a row of a query's result by column: nil, int64, float64 or string.
type Row map[string]any

// Query loads a trace and returns the rows of each SQL text.
func Query(t testing.TB, trace string, sql ...string) [][]Row {
	t.Helper()
	Need(t)
	rows, err := theServer.ask(trace, sql)
	if err != nil {
		t.Fatalf("query %s: %v", trace, err)
	}
	return rows
}

// Load reports how the engine takes a trace: nil, or why it refuses it.
func Load(t testing.TB, trace string) error {
	t.Helper()
	Need(t)
	_, err := theServer.ask(trace, nil)
	return err
}

// parse reads a line of query.mjs: [index, {column: value, ...}]. A number without point or exponent is an int64.
func parse(line []byte) (int, Row, error) {
	var index int
	var row Row
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&[]any{&index, &row}); err != nil {
		return 0, nil, err
	}
	for column, value := range row {
		n, ok := value.(json.Number)
		if !ok {
			continue
		}
		var err error
		if strings.ContainsAny(n.String(), ".e") {
			row[column], err = n.Float64()
		} else {
			row[column], err = n.Int64()
		}
		if err != nil {
			return 0, nil, err
		}
	}
	return index, row, nil
}

// Need skips the test where the engine is missing, and fails it where all tests have to run.
func Need(t testing.TB) {
	t.Helper()
	missing := ""
	if _, err := exec.LookPath("node"); err != nil {
		missing = "node is missing; scripts/test installs it"
	} else if !present() {
		missing = "Perfetto's engine is missing; scripts/fetch-engine downloads it"
	}
	switch {
	case missing == "":
	case os.Getenv("CI") != "" || os.Getenv("WPROF_TEST_ALL") != "":
		t.Fatal(missing)
	default:
		t.Skip(missing)
	}
}

func present() bool {
	folder := os.Getenv("PERFETTO_UI")
	if folder == "" {
		folder = filepath.Join(here(), "..", "..", "build", "engine")
	}
	for _, pattern := range []string{"engine_bundle.js", "*/engine_bundle.js"} {
		if found, _ := filepath.Glob(filepath.Join(folder, pattern)); len(found) > 0 {
			return true
		}
	}
	return false
}

// here is the folder of this file, because tests run in the folders of their own packages.
func here() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(file)
}
