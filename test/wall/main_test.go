//go:build linux

package wall

import (
	"testing"

	"wprof/test/tools"
)

func TestMain(m *testing.M) {
	tools.Main(m, tools.C{Name: "known", Source: "testdata/known.c", Flags: []string{"-fno-omit-frame-pointer", "-pthread"}})
}
