package files

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Origin returns the owner of a file, and the commit that is checked out in the Git repository that
// it is in; "" for what is unknown. Whether the file differs from that commit is not checked.
func Origin(path string) (owner, commit string) {
	if info, err := os.Stat(path); err == nil {
		owner = ownerOf(info)
	}
	real, err := realPath(path)
	if err != nil {
		return owner, ""
	}
	for dir := filepath.Dir(real); ; dir = filepath.Dir(dir) {
		if commit := checkedOut(filepath.Join(dir, ".git")); commit != "" || dir == filepath.Dir(dir) {
			return owner, commit
		}
	}
}

// commitID is a SHA-1 or SHA-256 in hexadecimal. Only that is ever returned from a file.
var commitID = regexp.MustCompile(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)

// checkedOut returns the commit of a repository's HEAD; "" if git is not a repository. In a linked
// working tree, git is a file that names the directory.
func checkedOut(git string) string {
	if dir, isFile := strings.CutPrefix(line(git), "gitdir: "); isFile {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(git), dir)
		}
		git = dir
	}
	head := line(filepath.Join(git, "HEAD"))
	ref, symbolic := strings.CutPrefix(head, "ref: ")
	if !symbolic {
		return commitID.FindString(head)
	}
	if common := line(filepath.Join(git, "commondir")); common != "" {
		git = filepath.Join(git, common)
	}
	if id := commitID.FindString(line(filepath.Join(git, filepath.FromSlash(ref)))); id != "" {
		return id
	}
	return packed(filepath.Join(git, "packed-refs"), ref)
}

// packed returns the commit of a branch from the file of packed refs.
func packed(path, ref string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if id, found := strings.CutSuffix(lines.Text(), " "+ref); found {
			return commitID.FindString(id)
		}
	}
	return ""
}

// line returns the first line of a small file; "" if it cannot be read.
func line(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(first)
}
