// Package flame is the tool wprof-flame: its flags, and the files that they select. The packages below it collect a profile, merge
// it into graphs, and write one output each.
package flame
