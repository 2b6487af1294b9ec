// Package analysis writes where time went as text: shares, coverage, the longest waits, a table of threads.
package analysis
