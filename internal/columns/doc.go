// Package columns writes a stream as Parquet files for SQL: one file for each kind of event, and files for the stacks, frames,
// tasks and the session. Names and types follow from the table of package records.
package columns
