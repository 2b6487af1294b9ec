// Package json holds the lines of wprof-json against a real capture of a busy machine: against what wprof-info counts,
// against the schema that wprof-json prints, against Perfetto's own engine, against the text form of the capture, and against
// what a workload knows of itself.
package json
