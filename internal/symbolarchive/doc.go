// Package symbolarchive keeps the functions and lines of many build-ids in one file, for machines that have none of the programs.
//
// An archive is a tar file. Its first entry, wprof-symbols, has the version; buildid/HEX/functions.gz has the functions of one
// build-id, as [symbol.Resolver.WriteFunctions] writes them, and buildid/HEX/lines.gz the lines at the places that captures need, as
// [symbol.Resolver.WriteLines] writes them. Readers skip entries of other names.
//
// Archives are untrusted input: what is read into memory is bounded.
package symbolarchive
