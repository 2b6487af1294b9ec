// Package html writes a profile as one HTML page in which the view is chosen.
package html
