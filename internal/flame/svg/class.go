package svg

import (
	"math"

	"wprof/internal/flame/graph"
	"wprof/internal/flame/web"
	"wprof/internal/waits"
)

// class returns the CSS class of a frame. The script in the file uses the same ones: see draw.js.
func (d *drawing) class(i int) string {
	f := &d.frames[i]
	n := &d.g.Nodes[f.node]
	switch {
	case d.changes:
		return web.ChangeTone(f.together == 0 && n.Kind == graph.KindKernel, changeStep(f.own.Ns()-f.base, d.whole))
	case d.isIdle[i]:
		return "idle"
	case f.together > 0:
		return "small"
	case n.Kind >= graph.KindWait:
		return web.WaitTone(waits.Class(n.Kind - graph.KindWait))
	case n.Kind == graph.KindRoot:
		return "root"
	case n.Kind == graph.KindDelay:
		return "delay"
	case n.Kind == graph.KindNote:
		return noteTone(f.own)
	case f.own.On+f.own.Off == 0:
		return "unknown"
	}
	return web.TimeTone(partOf(n.Kind), onShare(f.own), int(d.ids[i])%web.Shades)
}

// partOf returns whose colours a kind of function has.
func partOf(k graph.Kind) web.Part {
	switch k {
	case graph.KindKernel:
		return web.Kernel
	case graph.KindPython:
		return web.Python
	case graph.KindAwaiting:
		return web.Awaiting
	}
	return web.Program
}

// noteTone returns the class of a note's fill.
func noteTone(w graph.Weight) string {
	switch {
	case w.On > 0 && w.Off == 0:
		return "note-on"
	case w.Off > 0 && w.On == 0:
		return "note-off"
	}
	return "note"
}

// onShare returns the blend for the share of a time that was on the CPU.
func onShare(w graph.Weight) int {
	return int(float64(w.On)/float64(w.On+w.Off)*(web.Shares-1) + 0.5)
}

// changeStep returns the strength of a change: the square root of its share of the whole, so that 0.2% is visible; it is
// the same from 25% on.
func changeStep(ns, whole int64) int {
	if ns == 0 || whole == 0 {
		return 0
	}
	share := math.Abs(float64(ns)) / float64(whole)
	step := int(min(1, 2*math.Sqrt(share))*web.Steps + 0.5)
	if ns < 0 {
		return -step
	}
	return step
}
