package flame

import (
	"fmt"
	"strings"
)

// pageStyle are the tones of the palette, as properties that the page's style sheet and its script take them from.
func pageStyle() string {
	var all strings.Builder
	fmt.Fprintf(&all, ":root{%s}\n@media (prefers-color-scheme:dark){:root{%s}}\n", toneProperties(light), toneProperties(dark))
	return all.String()
}

func toneProperties(scheme int) string {
	var all strings.Builder
	for _, tones := range [][]tone{timeTones(), plainTones(), stripTones()} {
		for _, t := range tones {
			fmt.Fprintf(&all, "--%s:%s;", t.class, t.hex[scheme])
		}
	}
	return all.String()
}

// stripTones are those of a timeline by what threads did, in the order of BANDS in strip.js. Time for which a thread waited
// for a CPU stands between those on and off it, and is to be seen: it is of neither colour.
func stripTones() []tone {
	onLight, offLight := timeEnds(light, false, 1)
	onDark, offDark := timeEnds(dark, false, 1)
	return []tone{
		{"time-0", [schemes]string{onLight.hex(), onDark.hex()}},
		{"time-1", [schemes]string{lch(0.83, 0.15, 85).hex(), lch(0.72, 0.13, 85).hex()}},
		{"time-2", [schemes]string{offLight.hex(), offDark.hex()}},
		{"time-3", [schemes]string{lch(0.90, 0.035, 248).hex(), lch(0.33, 0.045, 248).hex()}},
		{"time-4", [schemes]string{lch(0.76, 0, 0).hex(), lch(0.47, 0, 0).hex()}},
	}
}
