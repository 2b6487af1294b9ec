//go:build linux

package sql

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"wprof/test/tools"
)

// snippet is the block of a language on docs/json.md.
func snippet(t *testing.T, page, language string) string {
	t.Helper()
	m := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("docs/json.md shows no %s", language)
	}
	return m[1]
}

// What docs/json.md shows of pandas and of DuckDB reads the lines, and both find the same.
func TestSnippetsOfTheLinesAgree(t *testing.T) {
	page, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	lines := tools.Run(t, "wprof-json", "--no-stacks", "-k", "switch", record(t, "-a"))
	if err := os.WriteFile(filepath.Join(dir, "switch.json"), lines, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "-c", snippet(t, string(page), "python"))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PYTHONPATH="+engines(t))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("pandas: %v: %s", err, out)
	}
	var printed []float64
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if value, err := strconv.ParseFloat(words[len(words)-1], 64); err == nil {
			printed = append(printed, value)
		}
	}
	rows := runSQL(t, "duckdb", dir, []block{{Name: "json.md", SQL: snippet(t, string(page), "sql")}})[0].Rows
	if len(rows) != 10 || len(printed) != 10 {
		t.Fatalf("DuckDB has %d rows, pandas %d:\n%v\n%s", len(rows), len(printed), rows, out)
	}
	for i, row := range rows {
		value, err := strconv.ParseFloat(row[1].(json.Number).String(), 64)
		if err != nil || value-printed[i] > 1e-5 || printed[i]-value > 1e-5 {
			t.Errorf("row %d: DuckDB has %v, pandas %v", i, row, printed[i])
		}
	}
}
