package web

import _ "embed"

var (
	//go:embed numbers.js
	numbersScript string
	//go:embed search.js
	searchScript string
	//go:embed frame.js
	frameScript string
)

// Script is what the scripts of the SVG and of the page share: how numbers are written, as graph.Caption writes them, what a search
// finds, and the colours and times of frames.
func Script() string { return numbersScript + searchScript + frameScript }
