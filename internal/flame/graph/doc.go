// Package graph merges the stacks of a profile into flame graphs, and says what their pictures are of.
package graph
