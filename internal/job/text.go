package job

import "strings"

// MaxOutput is how much of a job's output a Status shows: its end.
const MaxOutput = 64 << 10

// maxLine is how much of somebody else's text goes into a message.
const maxLine = 300

// Tail is the end of a text that holds no secret, as a Status shows it.
func Tail(text string) string {
	return strings.ToValidUTF8(text[max(0, len(text)-MaxOutput):], "")
}

// Line is the first line of a text that is not blank, shortened, as it fits into a message.
func Line(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(strings.ToValidUTF8(line[:min(len(line), maxLine)], ""))
}
