package redis

import "github.com/interlock-go/interlock/internal/store"

// putCall is one call of PutReadings on its way.
type putCall struct {
	args  arguments
	count int // of writes
	size  int // of their data

	done chan struct{}
	puts []store.Put
	err  error
}

const (
	putsUnderWay = 2       // how many scripts take readings at once; what comes meanwhile is gathered
	putsTogether = 200     // how many writes one of them takes, so that Redis is not busy for long
	sizeTogether = 1 << 20 // and how much data
)

// goTogether is how many calls one script is for.
func goTogether(waiting []*putCall) int {
	n, count, size := 0, 0, 0
	for n < len(waiting) {
		c := waiting[n]
		if n > 0 && (count+c.count > putsTogether || size+c.size > sizeTogether) {
			break
		}
		n, count, size = n+1, count+c.count, size+c.size
	}
	return n
}
