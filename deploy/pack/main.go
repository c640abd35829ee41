// Command pack puts one program into a zip file, as Lambda wants it, or a folder, for a release:
// pack PROGRAM|DIR ZIP. The same program makes the same bytes: no clock, no owner and no path of
// this machine is in it.
package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "use: pack PROGRAM|DIR ZIP")
		os.Exit(2)
	}
	if err := pack(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// pack writes the zip file; one that was there is replaced as a whole or not at all.
func pack(program, name string) error {
	out, err := os.CreateTemp(filepath.Dir(name), ".pack-")
	if err != nil {
		return err
	}
	defer os.Remove(out.Name()) // gone already, if all went well
	if err := errors.Join(fill(out, program), out.Chmod(0o644), out.Close()); err != nil {
		return err
	}
	return os.Rename(out.Name(), name)
}

// made is when every file was made: the earliest instant that the format can hold.
var made = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// fill writes a program, or all files of a folder below its name.
func fill(out io.Writer, program string) error {
	z := zip.NewWriter(out)
	err := filepath.WalkDir(program, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(filepath.Dir(program), path)
		if err != nil {
			return err
		}
		return add(z, filepath.ToSlash(name), path)
	})
	return errors.Join(err, z.Close())
}

func add(z *zip.Writer, name, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	header := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: made}
	header.SetMode(0o755)
	file, err := z.CreateHeader(header)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, in)
	return err
}
