package svg

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"wprof/internal/cli"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/web"
	"wprof/internal/waits"
)

// Sizes in the head, in pixels.
const (
	titleBase    = 30
	partsBase    = 52
	lineHeight   = 18
	legendGap    = 6
	sansLetter   = 6.7 // of the widest common fonts
	titleLetters = 120
	swatchWidth  = 14
	swatchGap    = 5 // between swatches and their text
	itemGap      = 16
)

// head writes title, subtitle and legend, broken into lines, and returns their height. The script lays them out again for other
// widths: see head.js.
func (d *drawing) head(b *bytes.Buffer) int {
	title := d.pic.Title
	if runes := []rune(title); len(runes) > titleLetters {
		title = string(runes[:titleLetters-1]) + "…"
	}
	fmt.Fprintf(b, "<g class=\"head\" font-family=\"sans-serif\" font-size=\"12\">\n"+
		"<text class=\"title\" x=\"%d\" y=\"%d\" font-size=\"17\">%s</text>\n<g class=\"parts\">\n", margin, titleBase, xmlText(title))
	flow := flow{x: margin, y: partsBase}
	parts := strings.Split(d.pic.Subtitle, graph.CaptionSep)
	for i, part := range parts {
		if i < len(parts)-1 {
			part += strings.TrimRight(graph.CaptionSep, " ")
		}
		x, y := flow.place(sansLetter*float64(utf8.RuneCountInString(part)), 5)
		fmt.Fprintf(b, "<g transform=\"translate(%d %d)\"><text>%s</text></g>\n", x, y, xmlText(part))
	}
	b.WriteString("</g>\n<g class=\"legend\">\n")
	flow.x, flow.y = margin, flow.y+lineHeight+legendGap
	for _, item := range d.legend() {
		beside := 0
		if len(item.tones) > 0 {
			beside = len(item.tones)*swatchWidth + swatchGap
		}
		x, y := flow.place(float64(beside)+sansLetter*float64(utf8.RuneCountInString(item.text)), itemGap)
		fmt.Fprintf(b, "<g transform=\"translate(%d %d)\">", x, y)
		for i, t := range item.tones {
			fmt.Fprintf(b, "<rect class=\"%s\" fill=\"%s\" x=\"%d\" y=\"-10\" width=\"%d\" height=\"12\"/>",
				t.Class, t.Hex[web.Light], i*swatchWidth, swatchWidth)
		}
		fmt.Fprintf(b, "<text x=\"%d\">%s</text></g>\n", beside, xmlText(item.text))
	}
	b.WriteString("</g>\n</g>\n")
	return flow.y
}

// flow places boxes beside each other, in lines.
type flow struct{ x, y int }

func (f *flow) place(width float64, gap int) (x, y int) {
	w := int(math.Ceil(width))
	if f.x > margin && f.x+w > staticWidth-margin {
		f.x, f.y = margin, f.y+lineHeight
	}
	x, y = f.x, f.y
	f.x += w + gap
	return x, y
}

// item is an entry of the legend.
type item struct {
	tones []web.Tone
	text  string
}

// legend explains the fills of the picture.
func (d *drawing) legend() []item {
	if d.changes {
		return d.changeLegend()
	}
	tones := make(map[string]web.Tone)
	for _, t := range d.tones() {
		tones[t.Class] = t
	}
	var items []item
	on := "on CPU"
	if d.pic.IsEvents {
		on = "events"
	}
	for of, where := range [web.Parts]string{web.Kernel: ", kernel", web.Python: ", Python or Ruby", web.Awaiting: ", awaiting"} {
		of := web.Part(of)
		for _, span := range []struct {
			from, to, like int
			text           string
		}{{web.Shares - 1, web.Shares, web.Shares - 1, on}, {0, 1, 0, "off CPU"}, {1, web.Shares - 1, web.Shares / 2, "on and off"}} {
			if d.usesShare(of, span.from, span.to) {
				items = append(items, item{[]web.Tone{tones[web.TimeTone(of, span.like, 1)]}, span.text + where})
			}
		}
	}
	for _, c := range waits.Classes() {
		if class := web.WaitTone(c.Class); d.used[class] {
			items = append(items, item{[]web.Tone{tones[class]}, c.Name})
		}
	}
	idle := "waits for work, " + graph.Spell(d.frames[d.idle].own.Ns())
	if d.foldsIdle() {
		idle += ": click to see"
	}
	for _, plain := range []struct {
		text    string
		classes []string
	}{
		{"process, thread or CPU", []string{"root"}}, {"runnable", []string{"delay"}}, {"[note]", []string{"note-on", "note-off", "note"}},
		{"small frames", []string{"small"}}, {"unknown", []string{"unknown"}},
		{idle, []string{"idle"}},
	} {
		of := item{text: plain.text}
		for _, class := range plain.classes {
			if d.used[class] {
				of.tones = append(of.tones, tones[class])
			}
		}
		if len(of.tones) > 0 {
			items = append(items, of)
		}
	}
	return items
}

func (d *drawing) usesShare(of web.Part, from, to int) bool {
	for share := from; share < to; share++ {
		for shade := range web.Shades {
			if d.used[web.TimeTone(of, share, shade)] {
				return true
			}
		}
	}
	return false
}

// changeLegend returns the legend of a difference, with the time of frames that only one side has.
func (d *drawing) changeLegend() []item {
	tones := web.ChangeTones()[:2*web.Steps+1]
	root := &d.frames[0]
	now, before := d.onlyOnce()
	return []item{
		{tones[:web.Steps], "shrank"}, {tones[web.Steps : web.Steps+1], "same"}, {tones[web.Steps+1:], "grew, by share of the whole"},
		{nil, "width: the larger of both"},
		{nil, fmt.Sprintf("now %s, %s of it new", d.amount(root.own.Ns()), d.amount(now))},
		{nil, fmt.Sprintf("before %s, %s of it gone", d.amount(root.base), d.amount(before))},
	}
}

// amount formats the time or number that a frame's width stands for.
func (d *drawing) amount(n int64) string {
	if d.pic.IsCount {
		return cli.Counted(uint64(n), "event")
	}
	return graph.Spell(n)
}

// onlyOnce returns the time of frames that only one side has.
func (d *drawing) onlyOnce() (now, before int64) {
	for i := range d.frames {
		f := &d.frames[i]
		switch {
		case i == 0:
		case f.base == 0 && d.frames[f.parent].base > 0:
			now += f.own.Ns()
		case f.own.Ns() == 0 && d.frames[f.parent].own.Ns() > 0:
			before += f.base
		}
	}
	return now, before
}
