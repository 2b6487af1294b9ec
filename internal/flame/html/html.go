package html

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/profile"
	"wprof/internal/flame/web"
	"wprof/internal/printable"
)

// Write writes a self-contained page that draws the profile on a canvas. It opens with the view first, whose Only selects the
// threads of the page. On the page every view for which the profile has the data can be selected.
//
// The page has the cells of the profile, not a graph: it merges them as [graph.Of] does. Its numbers have 53 bits,
// which is 104 days of one thread to the nanosecond.
func Write(w io.Writer, p *profile.Profile, first graph.View) error {
	return write(w, p, first, pageCaptions(p, first), nil)
}

// WriteCompared writes a page that shows the difference of a profile to another one, base, which becomes a part of it: see
// [profile.Join]. name says what base is.
func WriteCompared(w io.Writer, p, base *profile.Profile, first graph.View, name string) error {
	captions := pageCaptions(p, first)
	for i := range captions {
		captions[i].After = append(captions[i].After, "compared with "+printable.Text(name))
	}
	with := &pageBase{Thread: 0, Window: base.About.Window}
	for range first.Threads(p) {
		with.Thread++
	}
	return write(w, profile.Join(p, base), first, captions, with)
}

// pageBase is what a page is compared with.
type pageBase struct {
	Thread int   `json:"thread"` // number of its first thread
	Window int64 `json:"window"` // ns that were recorded
}

func write(w io.Writer, p *profile.Profile, first graph.View, captions []pageCaption, base *pageBase) error {
	// A block keeps the scripts' declarations out of the global scope.
	script, style := "'use strict';\n{\n"+web.Script()+classScript()+joined(pageScripts())+"}\n", pageStyle()+joined([]string{"page.css"})

	out := bufio.NewWriterSize(w, 64<<10)
	fmt.Fprintf(out, pageHead, contentPolicy(script, style), html.EscapeString(captions[first.Mode].Title), style)
	out.WriteString(joined([]string{"page.html"}))
	tables, err := writeTables(out, p, &first, first.Only)
	if err != nil {
		return fmt.Errorf("pack the profile: %w", err)
	}
	about, err := json.Marshal(pageAbout{
		Captions: captions, View: pageViewOf(&first), Slot: p.Slot, Slots: p.Slots, Origin: p.About.From, Span: p.About.Span,
		Spread: p.About.Spread, Period: p.About.Period(), Sources: printable.Text(graph.SourcesOf(p)), IsSampled: len(p.About.Sources) > 0,
		Window: p.About.Window, Base: base,
		pageTables: tables,
	})
	if err != nil {
		return fmt.Errorf("describe the profile: %w", err)
	}
	fmt.Fprintf(out, pageTail, about, script)
	return out.Flush()
}

// pageAbout is the data that the page has before it unpacks the profile.
type pageAbout struct {
	Captions []pageCaption `json:"captions"` // for each mode
	View     pageView      `json:"view"`
	Slot     int64         `json:"slot"` // ns
	Slots    int           `json:"slots"`
	Origin   int64         `json:"origin"` // of the first slot, ns since the recording began
	Span     int64         `json:"span"`   // ns

	Spread    bool   `json:"spread"`
	Period    int64  `json:"period"`  // of samples, ns; 0: unknown
	Sources   string `json:"sources"` // of samples
	IsSampled bool   `json:"isSampled"`

	Window int64     `json:"window"` // ns that were recorded, without the time between recordings
	Base   *pageBase `json:"base,omitempty"`
	pageTables
}

// pageCaption is a caption; between its parts Before and After the page says how the shown time was sampled.
type pageCaption struct {
	Title  string   `json:"title"`
	Before string   `json:"before"`
	After  []string `json:"after"`
}

// pageCaptions returns the captions of all modes, without what the page shows elsewhere: the time range, and waits for work.
func pageCaptions(p *profile.Profile, v graph.View) []pageCaption {
	v.From, v.To, v.NoIdleWaits = 0, 0, false
	var all []pageCaption
	for v.Mode = graph.Wall; v.Mode <= graph.Waker; v.Mode++ {
		one := pageCaption{Title: printable.Text(graph.TitleOf(p, v.What(p), v)), Before: printable.Text(graph.WhenOf(p, v))}
		for _, part := range graph.WhatElse(p, v) {
			one.After = append(one.After, printable.Text(part))
		}
		all = append(all, one)
	}
	return all
}

// pageView is a [graph.View] in the form that the page reads.
type pageView struct {
	Mode    graph.Mode `json:"mode"`
	By      graph.Root `json:"by"`
	States  bool       `json:"states"`
	Reverse bool       `json:"reverse"`
	Idle    bool       `json:"idle"` // with waits for work
	Fold    bool       `json:"fold"` // these in one frame
	From    int        `json:"from"`
	To      int        `json:"to"`
}

func pageViewOf(v *graph.View) pageView {
	return pageView{Mode: v.Mode, By: v.By, States: v.States, Reverse: v.Reverse, Idle: !v.NoIdleWaits, Fold: v.FoldIdle, From: v.From, To: v.To}
}

// The content security policy allows only the page's own script and style: even a name that is not escaped cannot run a script, and
// nothing is fetched.
const (
	pageHead = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>%s</title>
<style>%s</style>
</head>
`
	pageTail = `<script type="application/json" id="about">%s</script>
<script>%s</script>
</html>
`
)

func contentPolicy(script, style string) string {
	return fmt.Sprintf("default-src 'none'; img-src data:; script-src '%s'; style-src '%s'", sourceHash(script), sourceHash(style))
}

func sourceHash(source string) string {
	sum := sha256.Sum256([]byte(source))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

//go:embed page
var pageFiles embed.FS

// pageScripts returns the scripts in their order in the page, after those shared with the SVG: the last one starts the page.
func pageScripts() []string {
	return []string{
		"units.js", "packed.js", "profile.js", "view.js", "pairs.js", "shape.js", "graph.js", "attribute.js", "merge.js", "palette.js", "label.js",
		"layout.js", "flame.js", "search.js", "strip.js", "functions.js", "tooltip.js", "details.js", "threads.js", "lanes.js", "controls.js", "link.js", "page.js",
	}
}

func joined(names []string) string {
	var all strings.Builder
	for _, name := range names {
		text, err := pageFiles.ReadFile("page/" + name)
		if err != nil {
			panic(err) // the file is embedded
		}
		all.Write(text)
	}
	return all.String()
}
