package svg

import "wprof/internal/flame/graph"

// Waits for work are often most of the time, and say the least. Where a graph has them in one frame at its root, see [graph.View].FoldIdle,
// that is grey, has nothing above it, and has idlePercent of the picture's width at most; a click on it shows them in full. Times in the
// details and sums are not affected. Where all else is less than busyPercent of the time, there is nothing to make room for, and they are
// drawn in full at once. The script does the same: see idle.js.

const (
	idlePercent = 6
	busyPercent = 1
)

// findIdle sets where the frame with all waits for work is, and the frames above it.
func (d *drawing) findIdle() {
	d.isIdle = make([]bool, len(d.frames))
	for i := range d.frames {
		f := &d.frames[i]
		n := &d.g.Nodes[f.node]
		if f.depth == 1 && f.together == 0 && n.Kind == graph.KindNote && n.Name == graph.IdleRoot() {
			d.idle = i
		}
		d.isIdle[i] = d.idle > 0 && i == d.idle || f.parent > 0 && d.isIdle[f.parent]
	}
}

// foldsIdle reports whether waits for work are drawn narrower, and without what is above them.
func (d *drawing) foldsIdle() bool {
	whole := d.frames[0].width
	busy := whole - d.frames[d.idle].width
	return d.idle > 0 && float64(busy)*100 >= float64(whole)*busyPercent
}

// drawnWidths returns the widths that frames are drawn with, ns.
func (d *drawing) drawnWidths() []int64 {
	widths := make([]int64, len(d.frames))
	for i := range d.frames {
		widths[i] = d.frames[i].width
	}
	idle := widths[d.idle]
	busy := widths[0] - idle
	if !d.foldsIdle() || idle*(100-idlePercent) <= busy*idlePercent {
		return widths
	}
	part := float64(busy) * idlePercent / (100 - idlePercent) / float64(idle)
	for i := range widths {
		if d.isIdle[i] {
			widths[i] = int64(float64(widths[i]) * part)
		}
	}
	widths[0] = busy + widths[d.idle]
	return widths
}
