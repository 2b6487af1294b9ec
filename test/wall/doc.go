// Package wall compares wall-clock profiles with programs that measure for themselves where their time goes, and tests
// scripts/wprof-wallclock as its users run it.
package wall
