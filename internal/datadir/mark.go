package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// markName is the file that names the store to which the directory belongs.
const markName = "store"

// Store returns the name of the store to which the directory belongs, or "" if it belongs to none
// yet.
func (d *Dir) Store() (string, error) {
	text, err := os.ReadFile(filepath.Join(d.Path, markName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read to which store data directory %s belongs: %w", d.Path, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Own makes the directory belong to a store. It refuses a directory that belongs to another store,
// unless anew is set.
func (d *Dir) Own(id string, anew bool) error {
	owner, err := d.Store()
	switch {
	case err != nil || owner == id:
		return err
	case owner != "" && !anew:
		return fmt.Errorf("data directory %s belongs to the store %s, and this is the store %s: it was replaced, or emptied; bring back the first one, or use --new to go on with this one, which knows nothing of what the other has started",
			d.Path, owner, id)
	}
	if err := replace(filepath.Join(d.Path, markName), id+"\n"); err != nil {
		return fmt.Errorf("note to which store data directory %s belongs: %w", d.Path, err)
	}
	return nil
}

// Disown lets the directory belong to the store that uses it next.
func (d *Dir) Disown() error {
	if err := os.Remove(filepath.Join(d.Path, markName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget to which store data directory %s belongs: %w", d.Path, err)
	}
	return nil
}

// replace writes a file that is complete whenever it is there.
func replace(path, text string) error {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC|noFollow, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return Sync(filepath.Dir(path))
}

// Sync makes the names in a directory durable across a power failure.
func Sync(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
