// Package ending holds the tools to what they promise about being interrupted: nothing stays attached, nothing recorded
// is lost, and nothing is left lying about.
package ending
