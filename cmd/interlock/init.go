package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/examples"
)

func newInit(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a starter project",
		Long: "Write a small project into DIR (default the current directory): three pipelines, a\n" +
			"calendar and the server's file. It is ready to run: `interlock serve` in DIR. Existing files\n" +
			"are never changed.",
		Example: "  interlock init my-pipelines",
		Args:    atMostOne("DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return a.init(dir)
		},
	}
}

func (a *app) init(dir string) error {
	names, err := projectFiles()
	if err != nil {
		return err
	}
	for _, name := range names { // check before writing anything
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s already exists, and init changes no files; choose another directory", filepath.Join(dir, name))
		}
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := writeProjectFile(name, path); err != nil {
			return err
		}
		fmt.Fprintln(a.stdout, path)
	}
	fmt.Fprintf(a.stdout, "\nNow: %sinterlock serve\n", goTo(dir))
	return nil
}

// goTo returns the shell command that changes to a directory.
func goTo(dir string) string {
	if filepath.Clean(dir) == "." {
		return ""
	}
	if strings.ContainsFunc(dir, func(r rune) bool { return !strings.ContainsRune(plainRunes, r) }) {
		dir = "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	}
	return "cd " + dir + " && "
}

// plainRunes need no quoting in a shell.
const plainRunes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-"

func projectFiles() ([]string, error) {
	var names []string
	err := fs.WalkDir(examples.Starter(), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	})
	return names, err
}

// writeProjectFile copies a file of the starter project to path, which must not exist.
func writeProjectFile(name, path string) error {
	data, err := fs.ReadFile(examples.Starter(), name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("create the directory of %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
