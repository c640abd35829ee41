package run

// Transitions lets tests look at the whole state machine.
func Transitions() []Transition { return append([]Transition(nil), transitions...) }
