// Package graph merges the stacks of a profile into flame graphs, and writes their captions.
package graph
