package html

import (
	"fmt"
	"strings"

	"wprof/internal/flame/web"
)

// pageStyle returns the tones of the palette as CSS properties, for the page's style sheet and script.
func pageStyle() string {
	var all strings.Builder
	fmt.Fprintf(&all, ":root{%s}\n@media (prefers-color-scheme:dark){:root{%s}}\n", toneProperties(web.Light), toneProperties(web.Dark))
	return all.String()
}

func toneProperties(scheme int) string {
	var all strings.Builder
	for _, tones := range [][]web.Tone{web.TimeTones(), web.ChangeTones(), web.PlainTones(), web.BandTones(), web.WaitTones()} {
		for _, t := range tones {
			fmt.Fprintf(&all, "--%s:%s;", t.Class, t.Hex[scheme])
		}
	}
	return all.String()
}
