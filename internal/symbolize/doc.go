// Package symbolize is the tool wprof-symbolize: it finishes the spool that a killed recorder has left behind, and
// passes streams on.
package symbolize
