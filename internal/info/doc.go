// Package info is what wprof-info does: it says in short what a capture holds, checks it, and goes between the binary
// stream and its text form.
package info
