// Package symbolize is the tool wprof-symbolize: it names functions in streams, and finishes the spool of a killed recorder.
package symbolize
