// Package loss tests that nobody loses an event without knowing: what is in a capture and what it tells as lost are
// together what happened, by CPU and by kind, however the loss came about, and every tool tells it.
package loss
