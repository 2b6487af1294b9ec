package profile

// Join returns a profile with the threads of two, those of a first, for an output that compares them. It describes a's recording, and has
// time slots of a only. Both are part of it afterwards.
func Join(a, b *Profile) *Profile {
	frames, nodes, labels, wakes := FrameID(len(a.Frames)), NodeID(len(a.Nodes)), LabelID(len(a.Labels)), WakeID(len(a.Wakes))
	objects := ObjectID(len(a.Objects))
	node := func(id NodeID) NodeID {
		if id == 0 {
			return 0
		}
		return id + nodes - 1 // without b's node 0
	}
	label := func(id LabelID) LabelID {
		if id == 0 {
			return 0
		}
		return id + labels - 1
	}
	wake := func(id WakeID) WakeID {
		if id == 0 {
			return 0
		}
		return id + wakes - 1
	}
	joined := *a
	joined.Memory, joined.alike = a.Memory+b.Memory, nil
	if len(b.Objects) > 0 { // a profile made by hand has none
		joined.Objects = append(a.Objects, b.Objects[1:]...)
	}
	joined.Frames, joined.Labels = append(a.Frames, b.Frames[1:]...), append(a.Labels, b.Labels[1:]...)
	for _, n := range b.Nodes[1:] {
		joined.Nodes = append(joined.Nodes, Node{Parent: node(n.Parent), Frame: n.Frame + frames - 1})
	}
	for _, w := range b.Wakes[1:] {
		joined.Wakes = append(joined.Wakes, Wake{Label: label(w.Label), Stack: node(w.Stack), Before: wake(w.Before)})
	}
	for _, t := range b.Threads {
		t.Label = label(t.Label)
		for i := range t.Cells {
			c := &t.Cells[i]
			if c.Object != 0 {
				c.Object += objects - 1
			}
			c.Label, c.Stack, c.Wake, c.Slots = label(c.Label), node(c.Stack), wake(c.Wake), nil
		}
		joined.Threads = append(joined.Threads, t)
	}
	return &joined
}
