// Package json checks the lines of wprof-json for a real capture of a busy machine: against the counts of wprof-info, the schema
// that wprof-json prints, Perfetto's own engine, the text form of the capture, and what a workload measures itself.
package json
