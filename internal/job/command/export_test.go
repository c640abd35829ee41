//go:build unix

package command

// KeepWith makes the type start its keepers with other arguments.
func (t *Type) KeepWith(args ...string) { t.keeper = append(t.keeper[:1:1], args...) }

// Dir returns the directory of an attempt's job.
func (t *Type) Dir(handle string) string { return t.dir(handle).path }

// HashOf names the directory of an attempt's job.
var HashOf = hashOf
