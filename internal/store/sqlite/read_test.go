package sqlite

import (
	"fmt"
	"testing"
)

func TestListIsWholeHoweverManyThereAre(t *testing.T) {
	s := opened(t, t.TempDir(), Options{})
	for _, n := range []int{0, 1, listPiece - 1, listPiece, listPiece + 1, 3*listPiece + 5} {
		found, err := list[int](t.Context(), s, fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT CAST(i AS TEXT) FROM n LIMIT %d", n))
		if err != nil || len(found) != n {
			t.Fatalf("%d of %d records, %v", len(found), n, err)
		}
		for i, record := range found {
			if record != i {
				t.Fatalf("record %d is %d", i, record)
			}
		}
	}
}
