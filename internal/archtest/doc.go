// Package archtest holds the rules of the code base that a compiler does not
// know, as tests. It has no code of its own.
package archtest
