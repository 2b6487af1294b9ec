//go:build linux

package flamepage

import (
	"testing"

	"wprof/test/tools"
)

func TestMain(m *testing.M) {
	tools.Main(m, tools.C{Name: "office", Source: "testdata/office.c", Flags: []string{"-fno-omit-frame-pointer", "-pthread"}})
}
