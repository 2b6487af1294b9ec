// Package firefox writes what [tracks] draws as a profile for the Firefox Profiler, in the format that its user interface calls
// processed: docs-developer/processed-profile-format.md and src/types/profile.ts in github.com/firefox-devtools/profiler. The
// version written is 63, the last one whose tables have no columns for JavaScript only; newer user interfaces upgrade it.
//
// The format is columns, of tables for each thread and of some that all threads share, so nothing of it can be written before
// the stream has ended. Until then rows are kept by [spill], in memory or in a temporary file; then each table is read once for
// each of its columns.
package firefox
