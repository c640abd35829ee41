//go:build !linux

package program

import "errors"

// DelegatedCgroup is "": there are no control groups here.
func DelegatedCgroup() string { return "" }

// CheckCgroup returns an error: there are no control groups here.
func CheckCgroup(string) error { return errors.New("there are no control groups on this system") }
