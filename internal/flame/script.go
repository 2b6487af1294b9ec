package flame

import _ "embed"

// sharedScript is what the scripts of the SVG and of the page have in common: how numbers are written. They are written as
// [Profile.Caption] writes them.
//
//go:embed script/numbers.js
var sharedScript string
