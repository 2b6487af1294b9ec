// Package wall holds wall-clock profiles against programs that measure for themselves where their time goes, and tests
// scripts/wprof-wallclock as its users use it.
package wall
