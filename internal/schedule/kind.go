package schedule

// Listed says that the days of a list open by themselves, rather than the fires of a cron expression.
func (s *Schedule) Listed() bool { return s.opensDays() }

// HasTime says that schedule.time sets an earliest start; without it EarliestStart is no more than the beginning of a period.
func (s *Schedule) HasTime() bool { return s.time != nil }
