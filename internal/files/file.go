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

// file is a file that a path names, or that was found in a directory.
type file struct {
	path   string
	info   fs.FileInfo // nil if unknown
	given  bool        // a path names it
	unseen error       // why it cannot be read

	// For a file that was found in a directory: the real path of the given directory, and of the
	// file.
	root, origin string
}

// read returns its name and contents. Its size is probably unchanged since it was found.
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
	data := make([]byte, min(max(f.info.Size(), 0), document.MaxBytes)+1) // one more byte detects the end
	n, err := io.ReadFull(rest, data)
	data = data[:n]
	if err == nil { // it does not end there: its size is unknown, or it grows
		var more []byte
		more, err = io.ReadAll(rest)
		data = append(data, more...)
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return pipeline.Source{}, err
	}
	return pipeline.Source{File: f.path, Data: data}, nil
}

// open opens the file. One that was found in a directory is opened below its root, so that a link
// that has since replaced it cannot lead elsewhere.
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

// why says why it cannot be read and, for a link, where it leads.
func (f file) why(err error) string {
	if target, failed := os.Readlink(f.path); failed == nil {
		return fmt.Sprintf("it links to %s: %s", target, cause(err))
	}
	return cause(err).Error()
}
