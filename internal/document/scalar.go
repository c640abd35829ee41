package document

import (
	"hash/maphash"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
)

// Kind is the kind of a node, by the core schema of YAML 1.2: 010 is ten, 1e3 a number, yes and
// 1_000 are strings.
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

// The numbers of the core schema other than decimal integers, as YAML 1.2.2 defines them in section
// 10.3.2.
var (
	intForm   = regexp.MustCompile(`^(0o[0-7]+|0x[0-9a-fA-F]+)$`)
	floatForm = regexp.MustCompile(`^([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

// plainKind returns the kind of an unquoted text.
func plainKind(text string) Kind {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return Null
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return Bool
	}
	if strings.IndexByte("+-.0123456789", text[0]) < 0 {
		return String
	}
	unsigned := strings.TrimLeft(text[:1], "+-") + text[1:]
	switch {
	case unsigned != "" && strings.Trim(unsigned, "0123456789") == "", intForm.MatchString(text):
		return Int
	case floatForm.MatchString(text):
		return Float
	}
	return String
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

// words caches recently read short strings, each at the index of its hash. Files repeat the same
// words, so each is kept in memory once.
var (
	words    [1 << 12]atomic.Pointer[string]
	wordSeed = maphash.MakeSeed()
)

const shortWord = 24

// kept returns a string that does not keep the file's text in memory.
func kept(text string) string {
	if len(text) > shortWord {
		return strings.Clone(text)
	}
	place := &words[maphash.String(wordSeed, text)%uint64(len(words))]
	if known := place.Load(); known != nil && *known == text {
		return *known
	}
	word := strings.Clone(text)
	place.Store(&word)
	return word
}
