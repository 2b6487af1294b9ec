// Package stranger holds the format's page to its word: a reader and a writer of captures that were made from FORMAT.md alone, in
// another language, against the tools.
package stranger
