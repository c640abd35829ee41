package run

// Transitions exposes the whole state machine to tests.
func Transitions() []Transition { return append([]Transition(nil), transitions...) }
