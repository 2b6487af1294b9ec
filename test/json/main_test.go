//go:build linux

package json

import (
	"testing"
	"time"

	"wprof/test/tools"
)

func TestMain(m *testing.M) {
	tools.Main(m, tools.C{Name: "busy", Source: "testdata/busy.c", Flags: []string{"-pthread"}})
}

// hang is how long a tool may take on a machine with a hundred other things to do.
const hang = 5 * time.Minute
