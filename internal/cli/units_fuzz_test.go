package cli

import "testing"

func FuzzUnits(f *testing.F) {
	for _, seed := range []string{"5s", "1m30s", "250", "1.5gb", "32mb", "-1s", "9223372036854775807ns", "1e400s"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := ParseDuration(text); err == nil && d < 0 {
			t.Fatalf("%q is %v", text, d)
		}
		if n, err := ParseSize(text); err == nil && n < 0 {
			t.Fatalf("%q is %d bytes", text, n)
		}
	})
}
