package web

import (
	"fmt"
	"math"

	"wprof/internal/waits"
)

// Colours of frames. On-CPU time is red, off-CPU time is blue, and frames with both are between these by share; the kernel's frames
// are darker, those of Python are green and turquoise instead, and paler where they do not run but await. Each colour has three shades, to distinguish neighbours. In a difference growth is red and shrinkage blue, the
// stronger the larger its share of the whole.
//
// Frames that are not code are nearly grey, notes with a little red or blue, because they may show much time.
//
// Text on every fill has a contrast of at least 4.5 (WCAG AA): lightness is chosen for that, hues do not change it much.

const (
	Shares = 9 // colours from only off-CPU time, 0, to only on-CPU time
	Shades = 3
	Steps  = 6 // colours by growth, and as many by shrinkage
)

// schemes are light and dark.
const (
	Light = iota
	Dark
	Schemes
)

// Tone is a fill and its class in style sheets.
type Tone struct {
	Class string
	Hex   [Schemes]string
}

// Part is whose functions have colours of their own.
type Part int

const (
	Program Part = iota
	Kernel
	Python
	Awaiting // coroutines of Python that do not run
	Parts
)

// TimeTone returns the class of a frame's fill by the share of its time on the CPU.
func TimeTone(of Part, share, shade int) string {
	return fmt.Sprintf("t%d", (int(of)*Shares+share)*Shades+shade)
}

// ChangeTone returns the class of a frame's fill by how much it grew, from -steps to steps.
func ChangeTone(kernel bool, step int) string {
	step += Steps
	if kernel {
		step += 2*Steps + 1
	}
	return fmt.Sprintf("d%d", step)
}

// TimeTones returns the fills by share.
func TimeTones() []Tone {
	var all []Tone
	for of := range Parts {
		for share := range Shares {
			for shade := range Shades {
				t := Tone{Class: TimeTone(of, share, shade)}
				for scheme := range Schemes {
					on, off := timeEnds(scheme, of, shade)
					t.Hex[scheme] = mix(off, on, float64(share)/(Shares-1)).hex()
				}
				all = append(all, t)
			}
		}
	}
	return all
}

// timeEnds returns the colours of on-CPU and off-CPU time.
func timeEnds(scheme int, of Part, shade int) (on, off lab) {
	nuance := float64(shade) - 1
	switch {
	case scheme == Light && of == Awaiting:
		return lch(0.90+0.02*nuance, 0.055, 130+6*nuance), lch(0.89+0.02*nuance, 0.035, 190+6*nuance)
	case of == Awaiting:
		return lch(0.40+0.015*nuance, 0.05, 135+6*nuance), lch(0.40+0.015*nuance, 0.035, 192+6*nuance)
	case scheme == Light && of == Python:
		return lch(0.80+0.025*nuance, 0.145, 130+6*nuance), lch(0.79+0.022*nuance, 0.085, 190+6*nuance)
	case of == Python:
		return lch(0.50+0.02*nuance, 0.115, 135+6*nuance), lch(0.50+0.02*nuance, 0.075, 192+6*nuance)
	case scheme == Light && of == Program:
		return lch(0.765+0.03*nuance, 0.145, 31+6*nuance), lch(0.785+0.025*nuance, 0.095, 248+7*nuance)
	case scheme == Light:
		return lch(0.655+0.02*nuance, 0.175, 22+3*nuance), lch(0.655+0.02*nuance, 0.125, 262+5*nuance)
	case of == Program:
		return lch(0.535+0.025*nuance, 0.155, 31+6*nuance), lch(0.525+0.02*nuance, 0.110, 248+7*nuance)
	}
	return lch(0.435+0.018*nuance, 0.150, 20+3*nuance), lch(0.425+0.018*nuance, 0.125, 264+5*nuance)
}

// ChangeTones returns the fills by growth.
func ChangeTones() []Tone {
	var all []Tone
	for _, kernel := range []bool{false, true} {
		for step := -Steps; step <= Steps; step++ {
			t := Tone{Class: ChangeTone(kernel, step)}
			for scheme := range Schemes {
				same, end := changeEnds(scheme, kernel, step > 0)
				t.Hex[scheme] = mix(same, end, math.Abs(float64(step))/Steps).hex()
			}
			all = append(all, t)
		}
	}
	return all
}

// changeEnds returns the colours of no change and of the most.
func changeEnds(scheme int, kernel, grew bool) (same, most lab) {
	hue, chroma := 250.0, 0.130
	if grew {
		hue, chroma = 28, 0.180
	}
	bright, deep := 0.93, 0.68
	if scheme == Dark {
		bright, deep = 0.36, 0.53
	}
	if kernel {
		bright -= 0.06
		deep -= 0.05
	}
	return lch(bright, 0.003, 250), lch(deep, chroma, hue)
}

// PlainTones returns the fills of frames that are not code, of callers of the zoomed frame, and of found frames.
func PlainTones() []Tone {
	return []Tone{
		{"root", [Schemes]string{lch(0.84, 0.018, 255).hex(), lch(0.43, 0.022, 255).hex()}},
		{"note", [Schemes]string{lch(0.90, 0.025, 90).hex(), lch(0.37, 0.018, 90).hex()}},
		{"note-on", [Schemes]string{lch(0.90, 0.045, 35).hex(), lch(0.385, 0.050, 35).hex()}},
		{"note-off", [Schemes]string{lch(0.90, 0.030, 245).hex(), lch(0.385, 0.040, 250).hex()}},
		{"delay", runnable()},
		{"idle", [Schemes]string{lch(0.945, 0.004, 250).hex(), lch(0.29, 0.004, 250).hex()}},
		{"small", [Schemes]string{lch(0.925, 0, 0).hex(), lch(0.32, 0, 0).hex()}},
		{"unknown", [Schemes]string{lch(0.76, 0, 0).hex(), lch(0.47, 0, 0).hex()}},
		{"past", [Schemes]string{lch(0.95, 0.004, 255).hex(), lch(0.28, 0.008, 255).hex()}},
		{"hit", [Schemes]string{lch(0.91, 0.19, 105).hex(), lch(0.88, 0.18, 103).hex()}},
	}
}

// WaitTone returns the class of the fill of frames for what threads waited for.
func WaitTone(c waits.Class) string { return fmt.Sprintf("wait-%d", c) }

// WaitTones returns these fills: a hue for each class, in an order in which those that are often side by side differ most.
func WaitTones() []Tone {
	var all []Tone
	for _, c := range waits.Classes() {
		hue := math.Mod(25+137.5*float64(c.Class), 360) // the golden angle
		t := Tone{WaitTone(c.Class), [Schemes]string{lch(0.80, 0.11, hue).hex(), lch(0.50, 0.10, hue).hex()}}
		switch c.Class {
		case waits.Runnable:
			t.Hex = runnable()
		case waits.Preempted:
			t.Hex = [Schemes]string{lch(0.72, 0.17, 50).hex(), lch(0.46, 0.115, 50).hex()}
		case waits.Throttled:
			t.Hex = [Schemes]string{lch(0.66, 0.19, 20).hex(), lch(0.44, 0.13, 20).hex()}
		case waits.Unknown:
			t.Hex = [Schemes]string{lch(0.76, 0, 0).hex(), lch(0.47, 0, 0).hex()}
		}
		all = append(all, t)
	}
	return all
}

// BandTones returns the fills of the timeline by what threads did, in the order of BANDS in strip.js. Runnable time is between
// on-CPU and off-CPU time, and has a colour of its own so that it is noticed.
func BandTones() []Tone {
	onLight, offLight := timeEnds(Light, Program, 1)
	onDark, offDark := timeEnds(Dark, Program, 1)
	return []Tone{
		{"time-0", [Schemes]string{onLight.hex(), onDark.hex()}},
		{"time-1", runnable()},
		{"time-2", [Schemes]string{offLight.hex(), offDark.hex()}},
		{"time-3", [Schemes]string{lch(0.90, 0.035, 248).hex(), lch(0.33, 0.045, 248).hex()}},
		{"time-4", [Schemes]string{lch(0.76, 0, 0).hex(), lch(0.47, 0, 0).hex()}},
	}
}

// runnable returns the colours of time in which a thread waited for a CPU. They are stronger than others, because little of it matters.
func runnable() [Schemes]string {
	return [Schemes]string{lch(0.81, 0.17, 75).hex(), lch(0.53, 0.115, 75).hex()}
}

// lab is a colour in OKLab, in which equal steps look equal.
type lab struct{ l, a, b float64 }

func lch(lightness, chroma, degrees float64) lab {
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	return lab{lightness, chroma * cos, chroma * sin}
}

func mix(from, to lab, share float64) lab {
	at := func(x, y float64) float64 { return x + (y-x)*share }
	return lab{at(from.l, to.l), at(from.a, to.a), at(from.b, to.b)}
}

// hex returns the colour in sRGB.
func (c lab) hex() string {
	cube := func(v float64) float64 { return v * v * v }
	l := cube(c.l + 0.3963377774*c.a + 0.2158037573*c.b)
	m := cube(c.l - 0.1055613458*c.a - 0.0638541728*c.b)
	s := cube(c.l - 0.0894841775*c.a - 1.2914855480*c.b)
	return fmt.Sprintf("#%02x%02x%02x",
		channel(4.0767416621*l-3.3077115913*m+0.2309699292*s),
		channel(-1.2684380046*l+2.6097574011*m-0.3413193965*s),
		channel(-0.0041960863*l-0.7034186147*m+1.7076147010*s))
}

// channel converts a linear channel to sRGB.
func channel(v float64) int {
	v = min(max(v, 0), 1)
	if v <= 0.0031308 {
		v *= 12.92
	} else {
		v = 1.055*math.Pow(v, 1/2.4) - 0.055
	}
	return int(v*255 + 0.5)
}
