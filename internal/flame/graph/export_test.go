package graph

// Compare compares children of a node.
func (g *Graph) Compare(a, b int32) int { return g.compare(a, b) }
