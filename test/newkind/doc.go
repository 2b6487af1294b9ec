// Package newkind follows docs/development.md: it adds an event kind to a copy of the repository, builds it and records with
// it.
package newkind
