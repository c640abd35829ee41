package store

import (
	"crypto/rand"
	"fmt"
	"sync/atomic"
)

// Unique makes suffixes for the ids of Batches that must never count as a repeat of another one:
// two requests that ask for the same thing at the same version, of which only one may succeed. It
// is safe for concurrent use.
type Unique struct {
	mark string // unique, even among processes of the same name
	n    atomic.Int64
}

// NewUnique returns a Unique whose suffixes no other Unique returns.
func NewUnique() *Unique { return &Unique{mark: rand.Text()} }

// Suffix returns the next suffix.
func (u *Unique) Suffix() string { return fmt.Sprintf("/%s#%d", u.mark, u.n.Add(1)) }
