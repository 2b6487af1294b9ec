// Package browser shows a file that a tool has written in the user's web browser: it serves the file on loopback until it was fetched
// once, prints the link, and opens it where there is a browser.
package browser
