package svg

import (
	"fmt"
	"testing"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/web"
	"wprof/test/page"
)

// leastContrast is what WCAG 2 requires for text at level AA.
const leastContrast = 4.5

// TestSVGTextIsReadable checks the colours that a browser computes, for all text on all backgrounds.
func TestSVGTextIsReadable(t *testing.T) {
	for name, g := range map[string]*graph.Graph{"time": lesson(), "change": sketchOfChanges()} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(name+"/"+scheme, func(t *testing.T) {
				t.Parallel()
				p := openSVG(t, g, usualPicture)
				p.Prefer("color-scheme", scheme)
				p.readable("title", "fill of .title", "fill of .page")
				p.readable("subtitle", "fill of .parts text", "fill of .page")
				p.readable("legend", "fill of .legend text", "fill of .page")
				p.search("a")
				p.readable("found", "color of .found", "fill of .page")
				p.readable("search", "color of .search", "background-color of .search")
				p.readable("reset, disabled", "color of .reset", "background-color of .reset")
				p.readable("flip", "color of .flip", "background-color of .flip")
				p.readable("a match", "fill of .labels .on-hit", "fill of .frames .hit")
				p.Key("Escape")
				p.Key("ArrowUp")
				p.Key("ArrowUp")
				p.Key("Enter")
				p.readable("below the zoomed", "fill of .labels .on-past", "fill of .frames .past")
				p.readable("details", "color of .details div:last-child", "background-color of .details")
				p.readable("details' name", "color of .details div:first-child", "background-color of .details")
				for _, fill := range fills(g) {
					p.Eval(fmt.Sprintf(`document.querySelector('.frames path').setAttribute('class', %q)`, fill), nil)
					p.readable(fill, "fill of .labels text:not([class])", "fill of .frames path")
				}
			})
		}
	}
}

// fills are the classes of all fills of frames.
func fills(g *graph.Graph) []string {
	var all []string
	for _, t := range (&drawing{changes: g.Base != nil}).tones() {
		if t.Class != "hit" && t.Class != "past" {
			all = append(all, t.Class)
		}
	}
	return all
}

// readable checks the contrast of a text, given as "property of selector".
func (p picturePage) readable(what, text, ground string) {
	p.t.Helper()
	on, under := p.colour(text), p.colour(ground)
	if contrast, err := page.Contrast(on, under); err != nil || contrast < leastContrast {
		p.t.Errorf("%s: %s on %s has a contrast of %.2f (%v)", what, on, under, contrast, err)
	}
}

func (p picturePage) colour(of string) string {
	p.t.Helper()
	return p.Text(fmt.Sprintf(`(() => {
		const [property, selector] = %q.split(' of ');
		return getComputedStyle(document.querySelector(selector))[property];
	})()`, of))
}

// TestSVGColoursDistinguishOnFromOff: red has more red than blue, blue the other way round, in all that is shown.
func TestSVGColoursDistinguishOnFromOff(t *testing.T) {
	rgb := func(hex string) (r, g, b int) {
		if _, err := fmt.Sscanf(hex, "#%02x%02x%02x", &r, &g, &b); err != nil {
			t.Fatal(err)
		}
		return r, g, b
	}
	all := make(map[string]web.Tone)
	for _, tone := range append(web.TimeTones(), web.ChangeTones()...) {
		all[tone.Class] = tone
	}
	for scheme := range web.Schemes {
		for _, kernel := range []bool{false, true} {
			of := web.Program
			if kernel {
				of = web.Kernel
			}
			for shade := range web.Shades {
				if r, g, b := rgb(all[web.TimeTone(of, web.Shares-1, shade)].Hex[scheme]); r < b+40 || r < g+40 {
					t.Errorf("on the CPU, kernel %v: %d %d %d is not red", kernel, r, g, b)
				}
				if r, g, b := rgb(all[web.TimeTone(of, 0, shade)].Hex[scheme]); b < r+40 || b < g {
					t.Errorf("off the CPU, kernel %v: %d %d %d is not blue", kernel, r, g, b)
				}
			}
			for shade := range web.Shades {
				if r, g, _ := rgb(all[web.TimeTone(web.Python, web.Shares-1, shade)].Hex[scheme]); g < r+20 {
					t.Errorf("on the CPU, Python: %d %d is not green", r, g)
				}
				if r, _, b := rgb(all[web.TimeTone(web.Python, 0, shade)].Hex[scheme]); b < r+40 {
					t.Errorf("off the CPU, Python: %d %d is not turquoise", r, b)
				}
			}
			if r, _, b := rgb(all[web.ChangeTone(kernel, web.Steps)].Hex[scheme]); r < b+40 {
				t.Errorf("what grew is not red: %d, %d", r, b)
			}
			if r, _, b := rgb(all[web.ChangeTone(kernel, -web.Steps)].Hex[scheme]); b < r+40 {
				t.Errorf("what shrank is not blue: %d, %d", r, b)
			}
		}
	}
}
