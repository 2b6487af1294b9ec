//go:build linux

package json

import (
	"testing"

	"wprof/test/tools"
)

func TestMain(m *testing.M) {
	tools.Main(m, tools.C{Name: "busy", Source: "testdata/busy.c", Flags: []string{"-pthread"}})
}
