// Package web holds what the SVG and the HTML page share: colours, names and scripts.
package web
