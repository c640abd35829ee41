package job

import (
	"net/url"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
)

// CheckURL finds what is wrong with the URL at path. It never repeats the URL, which may hold a secret.
func CheckURL(path, text string) []document.Finding {
	if text == "" { // missing, which is told already
		return nil
	}
	u, err := url.Parse(maskURL(text))
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return []document.Finding{{Path: path, Message: "must be an absolute http or https URL such as https://host/path"}}
	case u.User != nil:
		return []document.Finding{{Path: path, Message: "contains a user or password; send credentials in a header, from ${env:NAME} or ${file:PATH}"}}
	case u.Fragment != "":
		return []document.Finding{{Path: path, Message: "contains a fragment (#…), which is never sent; remove it or write %23"}}
	}
	return nil
}

// maskURL is the URL without its variables. One that begins with a variable is given the scheme, and what else of its
// beginning is only known when the job starts.
func maskURL(text string) string {
	masked := Mask(text)
	if VariableEnd(text) == 0 {
		return masked
	}
	if rest, isScheme := strings.CutPrefix(masked, "1://"); isScheme {
		return "http://" + rest
	}
	return "http://" + masked
}
