// Package svg draws a flame graph as one interactive SVG file.
package svg
