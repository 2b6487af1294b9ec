// Package ndjson writes captures as JSON, one line for each event, and documents the schema of the lines.
//
// Records come from package records. This package formats them, fast and in parallel, because a capture has
// millions.
package ndjson
