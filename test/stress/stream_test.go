//go:build linux

package stress

import (
	"testing"

	"wprof/format"
	"wprof/test/tools"
)

// lostOf is how many events of a kind are lost in a capture.
func lostOf(t *testing.T, path string) map[format.Kind]uint64 {
	t.Helper()
	lost := map[format.Kind]uint64{}
	tools.WalkFile(t, path, func(_ *format.Reader, e *format.Event) {
		if e.Kind == format.KindLost {
			lost[e.Lost().What()] += e.Lost().Count()
		}
	})
	return lost
}
