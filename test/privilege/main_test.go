//go:build linux

package privilege

import (
	"testing"

	"wprof/test/tools"
)

func TestMain(m *testing.M) { tools.Main(m) }
