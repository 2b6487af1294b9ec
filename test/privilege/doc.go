// Package privilege holds the tools to what docs/permissions.md promises: who may record, with which rights files are
// read and written, and that nobody is led astray in a folder that anyone may write to.
package privilege
