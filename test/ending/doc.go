// Package ending tests what the tools promise when they are interrupted: nothing stays attached, nothing recorded
// is lost, and no files are left behind.
package ending
