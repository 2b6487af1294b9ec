//go:build linux

package wall

import (
	"testing"

	"wprof/test/tools"
)

func TestMain(m *testing.M) {
	flags := []string{"-fno-omit-frame-pointer", "-pthread"}
	tools.Main(m, tools.C{Name: "known", Source: "testdata/known.c", Flags: flags}, tools.C{Name: "server", Source: "testdata/server.c"},
		tools.C{Name: "bursts", Source: "testdata/bursts.c", Flags: flags}, tools.C{Name: "halves", Source: "testdata/halves.c", Flags: flags})
}
