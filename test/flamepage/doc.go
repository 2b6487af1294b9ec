// Package flamepage looks at pictures of real captures in a real browser, and makes the ones under docs/img.
package flamepage
