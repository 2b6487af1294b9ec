// Package html writes a profile as one HTML page, on which the user selects the view.
package html
