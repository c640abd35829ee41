package document

import (
	"fmt"
	"strings"
)

// Suggest returns the known word that was most likely meant by word: the same in another case, or
// one that differs in few letters.
func Suggest(word string, known []string) (string, bool) {
	const longest = 64
	if word == "" || len(word) > longest {
		return "", false
	}
	for _, k := range known {
		if strings.EqualFold(word, k) {
			return k, true
		}
	}
	best, nearest := "", 0
	lower := []rune(strings.ToLower(word))
	for _, k := range known {
		candidate := []rune(strings.ToLower(k))
		allowed := min(3, max(len(lower), len(candidate))/3)
		if d := distance(lower, candidate); d <= allowed && (best == "" || d < nearest) {
			best, nearest = k, d
		}
	}
	return best, best != ""
}

// DidYouMean ends an error about an unknown name with the known one that was most likely meant; ""
// if none is close.
func DidYouMean(word string, known []string) string {
	if near, ok := Suggest(word, known); ok {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// Choice ends an error about an unknown word with the one that was most likely meant, or else with
// all that are allowed.
func Choice(word string, known []string) string {
	if near := DidYouMean(word, known); near != "" {
		return near
	}
	return "; use one of " + strings.Join(known, ", ")
}

// distance counts the letters to insert, remove, change or swap with their neighbour.
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// unknownKey returns the message about an unknown key.
func unknownKey(key string, known []string) string {
	if near, ok := Suggest(key, known); ok {
		return fmt.Sprintf("unknown key %s; did you mean %q?", quote(key), near)
	}
	if len(known) == 0 {
		return fmt.Sprintf("unknown key %s; no keys are allowed here", quote(key))
	}
	return fmt.Sprintf("unknown key %s; use one of %s", quote(key), strings.Join(known, ", "))
}
