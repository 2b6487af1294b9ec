// Package flamepage opens flame graphs of real captures in a real browser, and makes the screenshots under docs/img.
package flamepage
