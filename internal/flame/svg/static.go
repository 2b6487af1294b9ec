package svg

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"wprof/internal/cli"
	"wprof/internal/flame/graph"
	"wprof/internal/flame/web"
)

// Sizes in pixels. Labels have a fixed pitch, so that their width is known without a browser.
const (
	staticWidth = 1200
	rowHeight   = 18
	barHeight   = 17
	margin      = 16
	framesGap   = 14
	letterWidth = 7.25
	labelPad    = 4
	leastLabel  = 3 // letters
)

// static draws the picture of the whole graph that is shown without the script: bars of one fill are one path, which takes a third
// of the bytes of rectangles. Edges are whole pixels; a narrower bar is drawn if it covers the middle of a pixel.
func (d *drawing) static(b *bytes.Buffer, top int) {
	paths := make(map[string]*strings.Builder)
	var labels bytes.Buffer
	for i, p := range d.places {
		if p.right <= p.left {
			continue
		}
		row := int(d.frames[i].depth)
		if !d.pic.Icicle {
			row = d.rows - 1 - row
		}
		y := top + row*rowHeight
		class := d.class(i)
		path := paths[class]
		if path == nil {
			path = new(strings.Builder)
			paths[class] = path
		}
		// A gap separates neighbours where there is room for one.
		width := p.right - p.left
		if width > 2 {
			width--
		}
		fmt.Fprintf(path, "M%d %dh%dv%dh-%[3]dz", p.left, y, width, barHeight)
		if label := d.fitted(i, width-2*labelPad); label != "" {
			fmt.Fprintf(&labels, "<text x=\"%d\" y=\"%d\">%s</text>\n", p.left+labelPad, y+13, xmlText(label))
		}
	}
	b.WriteString("<g class=\"frames\">\n")
	for _, t := range d.tones() {
		if path := paths[t.Class]; path != nil {
			fmt.Fprintf(b, "<path class=\"%s\" fill=\"%s\" d=\"%s\"/>\n", t.Class, t.Hex[web.Light], path)
		}
	}
	fmt.Fprintf(b, "</g>\n<g class=\"labels\" font-family=\"monospace\" font-size=\"12\">\n%s</g>\n", labels.String())
}

// place is the position of a frame, in pixels.
type place struct{ left, right int }

// layOut places the frames of the whole graph. A frame's own time is at its right.
func (d *drawing) layOut() []place {
	places := make([]place, len(d.frames))
	next := make([]int64, len(d.frames)) // ns at which the next frame on this one begins
	widths, folds := d.drawnWidths(), d.foldsIdle()
	whole := widths[0]
	if whole == 0 {
		return places
	}
	pixel := func(ns int64) int {
		// The conversion keeps products and sums apart, as in the script.
		return margin + int(float64(float64(ns)/float64(whole)*(staticWidth-2*margin))+0.5)
	}
	for i := range d.frames {
		f := &d.frames[i]
		var from int64
		if f.parent >= 0 {
			from = next[f.parent]
			next[f.parent] += widths[i]
		}
		next[i] = from
		if folds && d.isIdle[i] && i != d.idle {
			continue
		}
		places[i] = place{pixel(from), pixel(from + widths[i])}
	}
	return places
}

// name returns the name of a frame.
func (d *drawing) name(i int) string {
	f := &d.frames[i]
	switch {
	case i == 0:
		return "all"
	case f.together > 0:
		return "(" + cli.Counted(uint64(f.together), "small frame") + ")"
	}
	return web.ShortName(d.symbols.all[d.ids[i]].name)
}

// fitted returns what fits of a frame's name in a width; "" if too little of it would be left. The script does the same: see text.js.
func (d *drawing) fitted(i, width int) string {
	room := int(float64(width) / letterWidth)
	if room < leastLabel {
		return ""
	}
	name := d.name(i)
	if letters(name) <= room {
		return name
	}
	if d.isFunction(i) {
		return fittedFunction(name, room)
	}
	return cutTo(name, room)
}

// fittedFunction shortens a function's name, but not the file and line after it.
func fittedFunction(name string, room int) string {
	function, place := web.CutPlace(name)
	for _, shorter := range web.Shorter(function) {
		if letters(shorter+place) <= room {
			return shorter + place
		}
		function = shorter
	}
	return cutBefore(strings.ReplaceAll(function, "…", ""), place, room)
}

// cutBefore cuts a function before its place. A place is shown alone if nothing of the function fits before it, and not at all if it
// does not fit: a part of a line reads as another line.
func cutBefore(function, place string, room int) string {
	cut := cutTo(function, room-letters(place))
	switch {
	case place == "" || strings.Trim(cut, "…") != "":
		return cut + place
	case letters(place[1:]) <= room:
		return place[1:]
	}
	return cutTo(function, room)
}

func (d *drawing) isFunction(i int) bool {
	kind := d.g.Nodes[d.frames[i].node].Kind
	return d.frames[i].together == 0 && (kind == graph.KindUser || kind == graph.KindKernel || kind == graph.KindPython || kind == graph.KindAwaiting)
}

// cutTo cuts a label at its end to a number of letters.
func cutTo(label string, room int) string {
	cut, used := 0, 0 // cut is where an ellipsis may stand
	for i, r := range label {
		used += lettersOf(r)
		if used < room {
			cut = i + utf8.RuneLen(r)
		}
		if used > room {
			return label[:cut] + "…"
		}
	}
	return label
}

func letters(label string) int {
	n := 0
	for _, r := range label {
		n += lettersOf(r)
	}
	return n
}

// lettersOf returns the width of a character in letters: those of East Asia have two.
func lettersOf(r rune) int {
	if r >= 0x1100 {
		return 2
	}
	return 1
}
