// Package symbolarchive keeps the functions of many build-ids in one file, for machines that have none of the programs.
//
// An archive is a tar file. Its first entry, wprof-symbols, has the version; buildid/HEX/functions.gz has the functions of one
// build-id, as [symbol.Resolver.WriteFunctions] writes them. Readers skip entries of other names, such as those with source lines in
// later versions.
//
// Archives are untrusted input: what is read into memory is bounded.
package symbolarchive
