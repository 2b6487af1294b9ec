// Package around finds what surrounds slow things in a capture: the stretches of time in which a condition holds, with some time before and
// after, and what later events show of the end of each stretch.
package around
