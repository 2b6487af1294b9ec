// Package columns writes a stream as Parquet files for SQL: one file a kind of event, and the stacks, frames, tasks and the
// session that they speak of. Names and types follow from the table of package records.
package columns
