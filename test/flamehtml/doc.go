// Package flamehtml holds the page that wprof-flame --html writes against the graphs that Go makes of the same profile, in
// a browser.
package flamehtml
