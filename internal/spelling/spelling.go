// Package spelling finds what somebody has most likely mistyped. What the words
// are (settings, commands, tools) is its callers' business.
package spelling

import "slices"

// Nearest gives the known word with the least distance to word, of alike ones
// the first in the alphabet; "" when each is further away than most edits.
func Nearest(word string, known []string, most int) string {
	best, at := "", most+1
	for _, candidate := range slices.Sorted(slices.Values(known)) {
		if d := Distance(word, candidate); d < at {
			best, at = candidate, d
		}
	}
	return best
}

// Distance is Levenshtein's: the number of bytes to change, add or leave out
// between two words.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}
