package store

// maxPosition is beyond the end of every feed.
const maxPosition = Position(1) << 62

// Seek is the first place from low on that is past, of places that stay so once they are. A store gives events after a
// place and not the last of them, so places are searched for: by doubling steps and then by halving them.
func Seek(low Position, past func(Position) (bool, error)) (Position, error) {
	if done, err := past(low); done || err != nil {
		return low, err
	}
	high := low + 1
	for step := Position(1); high < maxPosition; step *= 2 {
		done, err := past(high)
		if err != nil {
			return 0, err
		}
		if done {
			break
		}
		low, high = high, min(high+step, maxPosition)
	}
	for high-low > 1 {
		mid := low + (high-low)/2
		done, err := past(mid)
		if err != nil {
			return 0, err
		}
		if done {
			high = mid
		} else {
			low = mid
		}
	}
	return high, nil
}
