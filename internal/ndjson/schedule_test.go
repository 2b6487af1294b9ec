package ndjson

import (
	"strings"
	"testing"

	"wprof/test/fromtext"
)

// The header has how the user gave the instants, and the one at which the window was to open, 2 ms before it did.
func TestHeaderHasTheRequestedInstant(t *testing.T) {
	for text, want := range map[string]string{
		`prepare="+5s" activate="/10s" requested=-0.002`: `"prepare":"+5s","activate":"/10s","requested_time":"2023-11-14T22:13:20.500000000Z",`,
		`prepare="@2023-11-14" activate="@now"`:          `"prepare":"@2023-11-14","activate":"@now","start_ts"`,
		``:                                               `"start_time":"2023-11-14T22:13:20.502000000Z","start_ts"`,
	} {
		out, _, ok := converted(fromtext.Stream(t, "section host=h boot_id=b open=1000000000 "+text+"\n clock monotonic=1000000000 realtime=1700000000502000000\nend close=+1s\n"), Options{})
		if header, _, _ := strings.Cut(string(out), "\n"); !ok || !strings.Contains(header, want) {
			t.Errorf("%s: the header is\n%s\nwant\n%s", text, header, want)
		}
	}
}
