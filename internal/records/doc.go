// Package records makes the records of the JSON schema of a stream: one a event, with what the state of the scheduler says
// about it, and one a stack. The table in kinds.go is the one list of kinds and fields; NDJSON, its schema and the columns
// of Parquet follow from it.
//
// Times are ns from the opening of the first section's window.
package records
