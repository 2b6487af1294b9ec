// Package flame is the tool wprof-flame: its flags, the requests made of them, and its files. The packages below it collect a profile, merge
// it into graphs, and write one output each.
package flame
