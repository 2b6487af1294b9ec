package perfetto

import "wprof/internal/tracks"

// linkArrows is more than the numbers of other arrows.
const linkArrows = 1 << 42

// maxLinks bounds the slices that wait for the one to which an arrow leads.
const maxLinks = 1 << 16

// link begins an arrow at the current event, or ends one that has begun there. Functions in each other are of one link: the innermost one, which is the
// first to end, did what the backward one is for.
func (w *view) link(l tracks.Link) {
	number, began := w.links.Get(l.ID)
	switch {
	case l.Leads && !began:
		w.linked++
		w.links.Put(l.ID, w.linked)
		w.seq.arrow(eventArrow, linkArrows+w.linked)
	case !l.Leads && began:
		w.links.Delete(l.ID)
		w.seq.arrow(eventArrowEnd, linkArrows+number)
	}
}
