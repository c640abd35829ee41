package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// file is one that a path names, or that was found in a directory.
type file struct {
	path   string
	info   fs.FileInfo // nil where not even that can be told
	given  bool        // a path names it
	unseen error       // why it cannot be looked at

	// Of a file that was found in a directory: its real path, and the given one that this is below of.
	root, origin string
}

// read gives its name and contents. Its size is probably what it was when it was found.
func (f file) read() (pipeline.Source, error) {
	if f.unseen != nil {
		return pipeline.Source{}, f.unseen
	}
	in, err := f.open()
	if err != nil {
		return pipeline.Source{}, err
	}
	defer in.Close()
	// One byte more than allowed is enough for the parser to see that the file is too large.
	rest := io.LimitReader(in, document.MaxBytes+1)
	data := make([]byte, min(max(f.info.Size(), 0), document.MaxBytes)+1) // and one to see that it ends
	n, err := io.ReadFull(rest, data)
	data = data[:n]
	if err == nil { // it does not end there: it is of no size that can be known, or grows
		var more []byte
		more, err = io.ReadAll(rest)
		data = append(data, more...)
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return pipeline.Source{}, err
	}
	return pipeline.Source{File: f.path, Data: data}, nil
}

// open opens the file. One that was found in a directory is opened below its root, so that a link that was put in its place
// since leads nowhere.
func (f file) open() (*os.File, error) {
	if f.root == "" {
		return os.Open(f.path)
	}
	name, err := filepath.Rel(f.root, f.origin)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(f.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.Open(name)
}

// why says why it cannot be read; of a link also where that leads.
func (f file) why(err error) string {
	if target, failed := os.Readlink(f.path); failed == nil {
		return fmt.Sprintf("it links to %s: %s", target, cause(err))
	}
	return cause(err).Error()
}
