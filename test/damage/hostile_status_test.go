//go:build linux

package damage

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"wprof/test/tools"
)

// judge holds a tool's end against what a hostile stream may make of it.
func (c *hostileCase) judge(r *tools.Result, isSummary bool) string {
	if wrong := sane(r, hostilePeak); wrong != "" {
		return wrong
	}
	want := c.status
	if isSummary && !slices.Contains(want, 1) && !slices.Contains(want, 3) {
		want = nil // it looks into no event
	}
	if want == nil {
		want = []int{0, 4}
	}
	if !slices.Contains(want, r.Status) {
		return fmt.Sprintf("status %d, want one of %v: %.300s", r.Status, want, r.Stderr)
	}
	return ""
}

// swallow is run without the output, which may be larger than what a test can hold: the kernel counts a process's most
// memory from that of the one that started it.
func (w *way) swallow(t testing.TB, name string, stream []byte) tools.Result {
	t.Helper()
	args := append(slices.Clone(w.args), "-o", os.DevNull)
	if w.pipe {
		return tools.Try(t, hang, stream, w.tool, args...)
	}
	if err := os.WriteFile(name, stream, 0o600); err != nil {
		t.Fatal(err)
	}
	return tools.Try(t, hang, nil, w.tool, append(args, name)...)
}
