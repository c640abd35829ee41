package document

import (
	"math"
	"strconv"
	"strings"
	"sync/atomic"
)

// Kind is the kind of a node, by the core schema of YAML 1.2: 010 is ten, 1e3 a number, yes and 1_000 are strings.
type Kind uint8

// The kinds of nodes.
const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	List
	Map
)

// plainKind returns the kind of an unquoted text.
func plainKind(text string) Kind {
	if text == "" {
		return Null
	}
	switch text[0] {
	case 'n', 'N', '~':
		if text == "~" || text == "null" || text == "Null" || text == "NULL" {
			return Null
		}
	case 't', 'T', 'f', 'F':
		switch text {
		case "true", "True", "TRUE", "false", "False", "FALSE":
			return Bool
		}
	case '+', '-', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return numberKind(text)
	}
	return String
}

func numberKind(text string) Kind {
	switch {
	case strings.HasPrefix(text, "0x"):
		return when(len(text) > 2 && strings.Trim(text[2:], "0123456789abcdefABCDEF") == "", Int)
	case strings.HasPrefix(text, "0o"):
		return when(len(text) > 2 && strings.Trim(text[2:], "01234567") == "", Int)
	}
	rest := strings.TrimLeft(text[:1], "+-") + text[1:]
	switch rest {
	case ".inf", ".Inf", ".INF":
		return Float
	case ".nan", ".NaN", ".NAN":
		return when(rest == text, Float)
	}
	whole := digits(rest)
	rest = rest[whole:]
	if rest == "" {
		return when(whole > 0, Int)
	}
	if rest[0] == '.' {
		fraction := digits(rest[1:])
		if whole+fraction == 0 {
			return String
		}
		rest = rest[1+fraction:]
	} else if whole == 0 {
		return String
	}
	if rest == "" {
		return Float
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return String
	}
	if rest = rest[1:]; rest != "" && (rest[0] == '+' || rest[0] == '-') {
		rest = rest[1:]
	}
	return when(rest != "" && digits(rest) == len(rest), Float)
}

func when(is bool, kind Kind) Kind {
	if is {
		return kind
	}
	return String
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// parseInt parses a text of kind Int; false if it does not fit in 64 bits.
func parseInt(text string) (int64, bool) {
	base := 10
	if strings.HasPrefix(text, "0x") {
		base, text = 16, text[2:]
	} else if strings.HasPrefix(text, "0o") {
		base, text = 8, text[2:]
	}
	i, err := strconv.ParseInt(text, base, 64)
	return i, err == nil
}

// parseFloat parses a text of kind Int or Float; infinite if it is that or too large.
func parseFloat(text string) float64 {
	if i, ok := parseInt(text); ok {
		return float64(i)
	}
	switch strings.ToLower(strings.TrimLeft(text, "+-")) {
	case ".inf":
		return math.Inf(1 - 2*strings.Count(text[:1], "-"))
	case ".nan":
		return math.NaN()
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && math.Abs(f) < math.MaxFloat64 { // a hexadecimal integer beyond 64 bits
		return math.Inf(1)
	}
	return f
}

// words caches recently read short strings, each at the index of its hash. Files repeat the same words, so each is
// kept in memory once.
var words [1 << 12]atomic.Pointer[string]

const shortWord = 24

// kept returns a string that does not keep the file's text in memory.
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
