// Package open tests what --open shows, in a real browser.
package open
