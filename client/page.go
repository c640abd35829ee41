package client

import "strconv"

// Page is one page of a list, newest first unless said otherwise. NextCursor leads to the next one; it is empty on the last.
type Page[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"nextCursor"`
}

// MaxPage is how many items a page may have.
const MaxPage = 500

// Paging is which page of a list is asked for. A Limit of 0 leaves its size to the server.
type Paging struct {
	Limit  int
	Cursor string
}

// with adds the page to the parameters of a list.
func (p Paging) with(pairs ...string) []string {
	if p.Limit > 0 {
		pairs = append(pairs, "limit", strconv.Itoa(p.Limit))
	}
	return append(pairs, "cursor", p.Cursor)
}
