// Package ruby knows Ruby's interpreter: in which ELF files it is, where its virtual machine's loop is, and what is where in its frames.
package ruby
