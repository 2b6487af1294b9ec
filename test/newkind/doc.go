// Package newkind adds an event kind to a copy of the repository, from scratch, and uses it: what docs/development.md says about
// that is true, and takes no more files than it says.
package newkind
