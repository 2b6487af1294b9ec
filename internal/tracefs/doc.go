// Package tracefs reads the kernel's descriptions of its tracepoints. Where tracefs is not mounted, it is mounted for this process alone,
// at no path.
package tracefs
