// Package format reads and writes the wprof event stream.
//
// A stream is a sequence of sections; a section is a header, blocks of definitions and of events, an index and an
// end block. Events stand in strict time order and name threads by the ids of definitions that stand before them.
// FORMAT.md beside this file specifies the bytes; the table in kinds.go is the one list of event kinds and fields,
// from which the record layout, the accessors in accessors_gen.go, the tables of FORMAT.md and the text form follow.
package format

//go:generate protoc --go_out=. --go_opt=paths=source_relative wprof.proto
//go:generate go run ./internal/gen
