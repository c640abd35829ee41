//go:build !unix

package program

import "errors"

// Check returns an error if programs should run as another user, which is not supported on this
// system.
func (p Policy) Check(...string) error {
	if p.User != nil {
		return errors.New("jobs.user: programs cannot be run as another user on this system; leave it out")
	}
	return nil
}
