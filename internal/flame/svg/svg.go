package svg

import (
	"bytes"
	"embed"
	"encoding/xml"
	"fmt"
	"io"
	"slices"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/web"
	"wprof/internal/printable"
)

// Picture is what an SVG has besides its graph. Texts may be any bytes.
type Picture struct {
	Title, Subtitle string // see [graph.Caption]
	Icicle          bool   // the root is at the top
	IsEvents        bool   // it shows events, not what threads did
	IsCount         bool   // widths are numbers of events, not times
}

const (
	// mostShown is the first limit that is tried for the number of frames shown by themselves. A browser lays them out in less than
	// 0.1 s, and parses them in less than 1 s.
	mostShown = 200_000
	// fewestShown is a number of frames that fits into largestSVG whatever their names.
	fewestShown = 2000
	// largestSVG is the maximum size of a file, bytes; where frames and names need more, fewer frames are shown.
	largestSVG = 4_800_000
)

// Write writes the graph as one self-contained interactive file. Where scripts do not run, it shows the whole
// graph; otherwise a script redraws it from a table in the file, for any part of the graph and any width.
//
// If g has another graph to compare with, the picture shows the difference: each frame is as wide as the larger of both,
// see [graph.Compare], red if it grew, blue if it shrank.
func Write(w io.Writer, g *graph.Graph, pic Picture) error {
	for most := mostShown; ; {
		d := newDrawing(g, pic, most)
		size := d.symbols.bytes
		if size <= largestSVG || most < fewestShown {
			file, err := d.encode()
			if err != nil {
				return err
			}
			if size = len(file); size <= largestSVG || most < fewestShown {
				_, err = w.Write(file)
				return err
			}
		}
		most = int(float64(most) * 0.9 * largestSVG / float64(size))
	}
}

// drawing is a picture while it is encoded.
type drawing struct {
	pic     Picture
	g       *graph.Graph
	frames  []shown
	places  []place // of frames
	idle    int     // the frame with all waits for work; 0: there is none
	isIdle  []bool  // of frames: they are in it
	rows    int     // up to the last one with a visible frame
	changes bool    // it shows a difference
	whole   int64   // the time of which changes are shares, ns
	symbols symbols
	ids     []int32 // of the frames' symbols
	used    map[string]bool
}

func newDrawing(g *graph.Graph, pic Picture, most int) *drawing {
	pic.Title, pic.Subtitle = printable.Text(pic.Title), printable.Text(pic.Subtitle)
	d := &drawing{pic: pic, g: g, frames: simplified(g, most), changes: g.Base != nil, used: make(map[string]bool)}
	root := &d.frames[0]
	d.whole = max(root.own.Ns(), root.base)
	d.findIdle()
	d.places = d.layOut()
	d.ids = make([]int32, len(d.frames))
	for i := range d.frames {
		f := &d.frames[i]
		if p := d.places[i]; p.right > p.left {
			d.rows = max(d.rows, int(f.depth)+1)
		}
		if f.together == 0 {
			d.ids[i] = d.symbols.id(&g.Nodes[f.node])
		}
		d.used[d.class(i)] = true
	}
	return d
}

//go:embed script
var svgFiles embed.FS

// encode returns the whole file.
func (d *drawing) encode() ([]byte, error) {
	var body bytes.Buffer
	head := d.head(&body)
	top := head + framesGap
	d.static(&body, top)
	height := top + d.rows*rowHeight + margin

	var b bytes.Buffer
	fmt.Fprintf(&b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "+
		"class=\"flame\" role=\"img\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %[1]d %[2]d\">\n", staticWidth, height)
	fmt.Fprintf(&b, "<title>%s</title>\n<desc>%s</desc>\n", xmlText(d.pic.Title), xmlText(d.pic.Subtitle))
	if err := d.style(&b); err != nil {
		return nil, err
	}
	fmt.Fprintf(&b, "<rect class=\"page\" width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n")
	b.Write(body.Bytes())
	if err := d.table(&b); err != nil {
		return nil, err
	}
	if err := script(&b); err != nil {
		return nil, err
	}
	b.WriteString("</svg>\n")
	return b.Bytes(), nil
}

// xmlText escapes a text for use between tags and in attributes.
func xmlText(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // writing to a buffer does not fail
	return b.String()
}

// style writes the style sheet. Elements have their fills as attributes too: some viewers do not support style sheets, and
// some pages forbid them.
func (d *drawing) style(b *bytes.Buffer) error {
	sheet, err := svgFiles.ReadFile("script/style.css")
	if err != nil {
		return err
	}
	b.WriteString("<style>\n")
	b.Write(sheet)
	for scheme := range web.Schemes {
		if scheme == web.Dark {
			b.WriteString("@media (prefers-color-scheme: dark) {\n")
		}
		for _, t := range d.tones() {
			fmt.Fprintf(b, ".flame .%s{fill:%s}\n", t.Class, t.Hex[scheme])
		}
	}
	b.WriteString("}\n</style>\n")
	return nil
}

// tones returns all fills that the picture may have.
func (d *drawing) tones() []web.Tone {
	if d.changes {
		return append(web.ChangeTones(), web.PlainTones()...)
	}
	return slices.Concat(web.TimeTones(), web.PlainTones(), web.WaitTones())
}

// script writes the script that makes the picture interactive.
func script(b *bytes.Buffer) error {
	b.WriteString("<script><![CDATA[\n'use strict';\n(() => {\n" + web.Script())
	for _, name := range []string{"text", "table", "idle", "layout", "head", "details", "search", "draw", "keys", "start"} {
		part, err := svgFiles.ReadFile("script/" + name + ".js")
		if err != nil {
			return err
		}
		b.Write(part)
	}
	b.WriteString("})();\n]]></script>\n")
	return nil
}
