// Package flamehtml compares the page that wprof-flame --html writes, in a browser, with the graphs that Go makes of the same
// profile.
package flamehtml
