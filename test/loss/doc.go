// Package loss tests that no event is lost silently: the recorded and the lost events of a capture are together what happened,
// by CPU and by kind, whatever caused the loss, and every tool reports it.
package loss
