package filter

import (
	"testing"

	"wprof/format"
	"wprof/internal/glob"
)

// FuzzCommandLine reads the values of flags that name threads, CPUs and times.
func FuzzCommandLine(f *testing.F) {
	for _, seed := range []string{"1,2,3", "0-3,7", "4294967295", "1.5s", "@2026-11-21T02:00:00.5Z", "ng*x?", "-1", "9999999999s"} {
		f.Add(seed, []byte("nginx: worker"))
	}
	f.Fuzz(func(t *testing.T, text string, name []byte) {
		if set, err := ParseCPUs([]string{text}); err == nil {
			set.Has(0)
			set.Has(format.AllCPUs)
		}
		_, _ = parseIDs([]string{text})
		_ = checkIDs(text)
		if checkGlob(text) == nil {
			glob.Match(text, name)
		}
		if bound, err := ParseBound(text); err == nil {
			_, _ = bound.resolve(0, nil)
		}
	})
}
