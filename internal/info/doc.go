// Package info is the tool wprof-info: it summarizes a capture, checks it, and converts between the binary
// stream and its text form.
package info
