//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wprof/test/tools"
)

// TestStackDepthLimitsFrames records a program that is forty calls deep.
func TestStackDepthLimitsFrames(t *testing.T) {
	tools.NeedPrivilege(t)
	program := compileC(t, "deep")
	for _, one := range []struct {
		flags []string
		user  func(int) bool
	}{
		{nil, func(n int) bool { return n > 40 }},
		{[]string{"--stack-depth=10"}, func(n int) bool { return n == 10 }},
		{[]string{"--stack-depth=10", "--unwind=fp"}, func(n int) bool { return n == 10 }},
	} {
		file := filepath.Join(t.TempDir(), "deep.wprof")
		tools.Run(t, "wprof-record", slices.Concat(one.flags, []string{"-o", file, "--", program})...)
		user, kernel := longestStack(t, file)
		if !one.user(user) || kernel == 0 || len(one.flags) > 0 && kernel > 18 {
			t.Errorf("%v: the longest stack has %d frames of user code and %d of the kernel", one.flags, user, kernel)
		}
	}
}

func longestStack(t *testing.T, file string) (user, kernel int) {
	t.Helper()
	for line := range bytes.Lines(tools.Run(t, "wprof-json", file)) {
		var stack struct{ Frames []string }
		if !bytes.Contains(line, []byte(`"frames":`)) {
			continue
		}
		if err := json.Unmarshal(line, &stack); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		count := func(mark string) (n int) {
			for _, f := range stack.Frames {
				if strings.HasPrefix(f, mark) {
					n++
				}
			}
			return n
		}
		user, kernel = max(user, count("[U]")), max(kernel, count("[K]"))
	}
	return user, kernel
}
