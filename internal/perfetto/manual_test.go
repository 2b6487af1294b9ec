package perfetto

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"wprof/test/engine"
)

// Each query of the manual runs.
func TestQueriesOfTheManual(t *testing.T) {
	page, err := os.ReadFile("../../docs/wprof-perfetto.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## SQL worth copying\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var queries []string
	for _, line := range regexp.MustCompile(`(?m)^    .*$`).FindAllString(section, -1) {
		queries = append(queries, strings.TrimSpace(line))
	}
	queries = strings.SplitAfter(strings.ReplaceAll(strings.Join(queries, "\n"), "1234", "100"), ";")
	trace := writtenWith(t, sampled+code+`
		+0 cpu0 state_cpu 2 prio=120
		+1000 cpu0 waking 2 wakee=3 prio=120 target_cpu=0
		+2000 cpu0 sample 2 stack=2 source=1
		+3000 cpu0 switch 2 next=3 prev_state=R+ prev_prio=120 next_prio=120 since=-100 next_state=S stack=4
		+4000 cpu0 switch 3 next=2 prev_state=S prev_prio=120 next_prio=120
		end close=+1000000
	`, DefaultOptions())
	rows := engine.Query(t, trace, queries[:len(queries)-1]...)
	if len(rows) < 8 || queries[len(queries)-1] != "" {
		t.Fatalf("found %q", queries)
	}
	for i, query := range queries[:len(queries)-1] {
		if len(rows[i]) == 0 && strings.Contains(query, "select") {
			t.Errorf("no rows:%s", query)
		}
	}
}
