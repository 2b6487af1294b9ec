// Package privilege tests what docs/permissions.md promises: who may record, with which rights files are
// read and written, and that no tool follows an attacker's links in a folder that anyone may write to.
package privilege
