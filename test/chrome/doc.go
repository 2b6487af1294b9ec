// Package chrome asks those who read Chrome's trace event JSON what they make of real recordings: Perfetto's engine, against
// what it makes of the trace that wprof-perfetto writes, and speedscope.
package chrome
