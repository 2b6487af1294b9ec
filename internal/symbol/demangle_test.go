package symbol

import (
	"fmt"
	"strings"
	"testing"
)

// TestDemanglingIsBounded demangles names that expand to far more than their length, or nest deeply. Unbounded, the first alone
// would fill the memory.
func TestDemanglingIsBounded(t *testing.T) {
	var doubling strings.Builder
	doubling.WriteString("_Z1f1aIiiE")
	for i := range 60 { // each type is the template a of the one before, twice
		fmt.Fprintf(&doubling, "S_IS%s_S%s_E", base36(i), base36(i))
	}
	for name, mangled := range map[string]string{
		"doubling":  doubling.String(),
		"pointers":  "_Z1f" + strings.Repeat("P", 16000) + "i",
		"templates": "_Z1f" + strings.Repeat("1aI", 2500) + "i" + strings.Repeat("E", 2500),
		"functions": "_Z1f" + strings.Repeat("PFv", 2500) + "i" + strings.Repeat("E", 2500),
		"names":     "_ZN" + strings.Repeat("1a", 8000) + "Ev",
		"old rust":  "_ZN" + strings.Repeat("1a", 8000) + "17h0123456789abcdefE",
		"new rust":  "_R" + strings.Repeat("Nv", 8000) + "C1a",
		"backrefs":  "_RI" + "NvC1a1b" + strings.Repeat("TB1_B1_E", 1000) + "E",
		"types":     "_RINvC1a1b" + strings.Repeat("T", 8000) + "lE",
		"long":      "_Z" + strings.Repeat("x", 1<<20),
	} {
		for _, form := range []Form{ShortForm, FullForm} {
			if got := Demangle(mangled, form); got != mangled && len(got) > 1<<maxDemangledPower {
				t.Errorf("%s: got %d bytes", name, len(got))
			}
		}
	}
}

func base36(n int) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if n < 36 {
		return digits[n : n+1]
	}
	return base36(n/36) + digits[n%36:n%36+1]
}
