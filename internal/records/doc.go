// Package records converts a stream to the records of the JSON schema: one for each event, with what the scheduler state adds
// to it, and one for each stack. The table in kinds.go is the only list of kinds and fields; NDJSON, its schema and the columns
// of Parquet follow from it.
//
// Times are ns from the opening of the first section's window.
package records
