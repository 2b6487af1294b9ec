//go:build linux

package ending

import (
	"testing"

	"wprof/test/tools"
)

func TestMain(m *testing.M) {
	tools.Main(m, tools.C{Name: "stamps", Source: "testdata/stamps.c", Flags: []string{"-pthread"}})
}
