package program

// Limits are what one program and its processes may use together. A zero is no limit.
type Limits struct {
	Memory    int64 `json:"memory,omitempty"`    // bytes
	Processes int   `json:"processes,omitempty"` // threads count, too
	Output    int64 `json:"output,omitempty"`    // bytes printed
}
