package document

import (
	"strings"
	"sync/atomic"
)

// words are short texts that were read lately, each at the place of its hash. Files say the same words over and over, and
// what stays of them is thus kept once.
var words [1 << 12]atomic.Pointer[string]

const shortWord = 24

// kept is a text that may stay when the file it was read from goes.
func kept(text string) string {
	if len(text) > shortWord {
		return strings.Clone(text)
	}
	place := &words[hashOf(text)%uint32(len(words))]
	if known := place.Load(); known != nil && *known == text {
		return *known
	}
	word := strings.Clone(text)
	place.Store(&word)
	return word
}

// hashOf is FNV-1a.
func hashOf(text string) uint32 {
	h := uint32(2166136261)
	for i := range len(text) {
		h = (h ^ uint32(text[i])) * 16777619
	}
	return h
}
