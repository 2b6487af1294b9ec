//go:build linux

package flamehtml

import (
	"testing"

	"wprof/test/tools"
)

func TestMain(m *testing.M) { tools.Main(m) }
