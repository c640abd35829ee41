package job

// Fill puts variables and secrets into texts beside job.config, by the same rules.
type Fill struct{ e expander }

// NewFill fills in these variables, and the secrets that s allows.
func NewFill(variables map[string]string, s *Secrets) *Fill {
	return &Fill{expander{variables: variables, secrets: s}}
}

// Text is text with its variables put in. An error holds no secret; it is a *Refusal where a secret may not, or cannot, be
// read.
func (f *Fill) Text(text string) (string, error) { return f.e.text(text) }

// Value is v with the variables of every text in it put in.
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

// Secrets hides what was put in so far.
func (f *Fill) Secrets() Redactor { return NewRedactor(f.e.used...) }
