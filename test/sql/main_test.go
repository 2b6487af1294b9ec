//go:build linux

package sql

import (
	"testing"

	"wprof/test/tools"
)

func TestMain(m *testing.M) {
	tools.Main(m, tools.C{Name: "hive", Source: "testdata/hive.c", Flags: []string{"-pthread"}})
}
