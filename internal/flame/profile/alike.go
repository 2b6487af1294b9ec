package profile

// FirstAlike returns the first stack whose functions have the same names and lines. On-CPU time is divided among stacks in the order of these.
func (p *Profile) FirstAlike(id NodeID) NodeID {
	if int(id) < len(p.alike) {
		return p.alike[id]
	}
	return id
}
