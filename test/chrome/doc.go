// Package chrome opens Chrome's trace event JSON of real recordings in the programs that read it: Perfetto's engine, where it is
// compared with the trace that wprof-perfetto writes, Chrome's trace viewer, and speedscope.
package chrome
