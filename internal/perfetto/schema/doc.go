// Package schema describes the part of Perfetto's trace format that wprof-perfetto writes, for tests that decode whole
// traces. The encoder itself appends fields by hand; see internal/perfetto.
package schema

//go:generate protoc --go_out=. --go_opt=paths=source_relative trace.proto
