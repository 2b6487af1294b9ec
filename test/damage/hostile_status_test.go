//go:build linux

package damage

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"wprof/test/tools"
)

// problem compares how a tool ended with what is allowed for a hostile stream; "": nothing is wrong.
func (c *hostileCase) problem(r *tools.Result, isSummary bool) string {
	if wrong := sane(r, hostilePeak); wrong != "" {
		return wrong
	}
	want := c.status
	if isSummary && !slices.Contains(want, 1) && !slices.Contains(want, 3) {
		want = nil // it reads no events
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
func (v *variant) swallow(t testing.TB, name string, stream []byte) tools.Result {
	t.Helper()
	args := append(slices.Clone(v.args), "-o", os.DevNull)
	if v.pipe {
		return tools.Try(t, hang, stream, v.tool, args...)
	}
	if err := os.WriteFile(name, stream, 0o600); err != nil {
		t.Fatal(err)
	}
	return tools.Try(t, hang, nil, v.tool, append(args, name)...)
}
