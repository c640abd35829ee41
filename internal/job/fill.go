package job

// Fill expands variables and secrets in texts outside job.config, by the same rules.
type Fill struct{ e expander }

// NewFill expands these variables, and the secrets that s allows.
func NewFill(variables map[string]string, s *Secrets) *Fill {
	return &Fill{expander{variables: variables, secrets: s}}
}

// Text expands the variables of text. An error contains no secret; it is a *Refusal if a secret may not, or cannot,
// be read.
func (f *Fill) Text(text string) (string, error) { return f.e.text(text) }

// Value expands every text in v.
func (f *Fill) Value(v any) (any, error) {
	switch v := v.(type) {
	case string:
		return f.Text(v)
	case []any:
		filled := make([]any, len(v))
		for i, item := range v {
			one, err := f.Value(item)
			if err != nil {
				return nil, err
			}
			filled[i] = one
		}
		return filled, nil
	case map[string]any:
		filled := make(map[string]any, len(v))
		for key, item := range v {
			one, err := f.Value(item)
			if err != nil {
				return nil, err
			}
			filled[key] = one
		}
		return filled, nil
	default:
		return v, nil
	}
}

// Secrets returns a Redactor for the secrets used so far.
func (f *Fill) Secrets() Redactor { return NewRedactor(f.e.used...) }
