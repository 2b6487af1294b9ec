// Package ndjson writes captures as JSON, a line an event, and describes what the lines look like.
//
// Records come from package records; what is here is how they are written: fast, and in parallel, because a capture has
// millions.
package ndjson
