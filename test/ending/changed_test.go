//go:build linux

package ending

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"wprof/test/tools"
)

// TestSpoolChangedByAnotherProgram: whatever is left of the recording, that something is missing is said.
func TestSpoolChangedByAnotherProgram(t *testing.T) {
	tools.NeedPrivilege(t)
	for name, after := range map[string]time.Duration{
		"nothing is left":                 0,
		"a later generation is left":      5 * time.Second,
		"what comes after a part is left": time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "x.wprof")
			r := tools.Start(t, "-d60s", "-o", file)
			time.Sleep(700 * time.Millisecond) // until there is a round
			keep := int64(0)
			if after == time.Second {
				keep = 4096
			}
			if err := os.Truncate(file+".part", keep); err != nil {
				t.Fatal(err)
			}
			time.Sleep(after)
			if got := r.Stop(); got != 1 {
				t.Errorf("status %d", got)
			}
			oneSentence(t, r.Stderr.String(), "wprof-record", "another program has cut or overwritten the spool")
		})
	}
}
