//go:build linux

package chrome

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wprof/test/page"
	"wprof/test/tools"
)

// In 200 ms of a busy machine the slices of a row lie end to end for speedscope too: one deep, without a warning.
func TestSpeedscopeReadsABusyMachine(t *testing.T) {
	t.Parallel()
	tools.NeedPrivilege(t)
	dir := t.TempDir()
	capture := tools.Record(t, filepath.Join(dir, "busy.wprof"), nil, func() { work(t) })
	trace := tools.Convert(t, filepath.Join(dir, "busy.json"), "wprof-json", "--chrome", "--start", "100ms", "--end", "300ms", capture)
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	p := page.Speedscope(t, "busy.json", text)
	var saved struct {
		Profiles []struct {
			Name   string
			Events []struct{ Type string }
		}
	}
	if err := json.Unmarshal(p.SavedBySpeedscope(), &saved); err != nil {
		t.Fatal(err)
	}
	slices := 0
	for _, profile := range saved.Profiles {
		depth := 0
		for _, e := range profile.Events {
			if e.Type == "C" {
				depth--
			} else if depth++; depth > 1 {
				t.Errorf("%s is %d slices deep", profile.Name, depth)
				break
			}
			slices++
		}
	}
	if slices < 2*strings.Count(string(text), `"ph":"X"`) || slices < 2000 {
		t.Errorf("speedscope has the begins and ends of %d of %d slices", slices/2, strings.Count(string(text), `"ph":"X"`))
	}
	for _, said := range p.ConsoleErrors() {
		if !strings.Contains(said, "WebGL") { // that the machine has no graphics processor
			t.Fatalf("speedscope complains: %.500s", said)
		}
	}
}
