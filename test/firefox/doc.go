// Package firefox opens profiles of real recordings with the importer of the Firefox Profiler, and compares what it computes with
// what wprof-json says about the same recording.
package firefox
