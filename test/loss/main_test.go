//go:build linux

package loss

import (
	"testing"

	"wprof/test/tools"
)

func TestMain(m *testing.M) {
	tools.Main(m,
		tools.C{Name: "pingpong", Source: "testdata/pingpong.c", Flags: []string{"-pthread"}},
		tools.C{Name: "flood", Source: "testdata/flood.c", Flags: []string{"-pthread"}},
		tools.C{Name: "maps", Source: "testdata/maps.c"},
	)
}
