// Package tracepoint describes tracepoints of the kernel as event types: it parses the files in which the kernel describes their records
// (events/GROUP/NAME/format of tracefs), and decodes copies of these records.
//
// Everything in it works on any system: a recording is finalised where its spool is.
package tracepoint
