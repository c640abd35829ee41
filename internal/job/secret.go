package job

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/interlock-go/interlock/internal/run"
)

// maxSecret is how large a secret may be.
const maxSecret = 64 << 10

// Secrets reads the values of ${env:NAME} and ${file:PATH}, as far as the server's own file allows.
// A nil *Secrets allows nothing.
type Secrets struct {
	env    map[string]bool
	files  []string
	lookup func(name string) (value string, set bool)
	stored map[SecretKind][]string // names that may be read from a service
	read   func(kind SecretKind, name string) (string, error)
}

// SecretKind is an external secret store, as ${…} names it.
type SecretKind string

// The kinds: a secret in AWS Secrets Manager, ${secret:NAME} or ${secret:NAME#key}, and a parameter
// in Systems Manager, ${ssm:NAME}.
const (
	ManagedSecret SecretKind = "secret"
	Parameter     SecretKind = "ssm"
)

// From also allows secrets in a service, by name; a name that ends in * is a prefix. They are read
// at the start of a job through read, whose error is a *Refusal.
func (s *Secrets) From(allowed map[SecretKind][]string, read func(kind SecretKind, name string) (string, error)) *Secrets {
	s.stored, s.read = allowed, read
	return s
}

// fromService reads a secret from a service.
func (s *Secrets) fromService(kind SecretKind, name string) (string, error) {
	id, _, _ := strings.Cut(name, "#")
	allows := func(allowed string) bool {
		prefix, open := strings.CutSuffix(allowed, "*")
		return allowed == id || open && strings.HasPrefix(id, prefix)
	}
	if s == nil || s.read == nil || !slices.ContainsFunc(s.stored[kind], allows) {
		return "", Refuse(run.Permanent, "${%s:%s} may not be read; add %s to secrets.%s in the server's file", kind, name, id, settingOf[kind])
	}
	return s.read(kind, name)
}

// settingOf names the setting of the server's file that allows each kind.
var settingOf = map[SecretKind]string{ManagedSecret: "secretsManager", Parameter: "ssm"}

// NewSecrets allows the environment variables with these names and the files at or below these
// paths. It reads the environment through lookup; relative paths are relative to the current
// directory.
func NewSecrets(env, files []string, lookup func(name string) (string, bool)) (*Secrets, error) {
	s := &Secrets{env: map[string]bool{}, lookup: lookup}
	for _, name := range env {
		s.env[name] = true
	}
	for _, path := range files {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, fmt.Errorf("find the secrets in %s: %w", path, err)
		}
		s.files = append(s.files, absolute)
	}
	return s, nil
}

// fromEnv reads an environment variable.
func (s *Secrets) fromEnv(name string) (string, error) {
	if s == nil || !s.env[name] {
		return "", Refuse(run.Permanent, "${env:%s} may not be read; add %s to secrets.env in the server's file", name, name)
	}
	value, set := s.lookup(name)
	if !set {
		return "", Refuse(run.Permanent, "${env:%s} is not set in the server's environment", name)
	}
	return value, nil
}

// fromFile reads a file without its final line break. A missing or unreadable file may be fixed by
// the next try, so only a path that is not allowed is a permanent refusal.
func (s *Secrets) fromFile(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", Refuse(run.Permanent, "${file:%s} is not an absolute path; write one that begins with /", path)
	}
	dir, name, ok := s.allowed(filepath.Clean(path))
	if !ok {
		return "", Refuse(run.Permanent, "${file:%s} may not be read; add it or its directory to secrets.files in the server's file", path)
	}
	value, err := readBelow(dir, name)
	if err != nil {
		return "", RefuseOver(err, run.Transient, "${file:%s} cannot be read: %v", path, reason(err))
	}
	return strings.TrimRight(value, "\r\n"), nil
}

// allowed splits path into the directory that a read may not leave and the rest.
func (s *Secrets) allowed(path string) (dir, name string, ok bool) {
	if s == nil {
		return "", "", false
	}
	for _, root := range s.files {
		if path == root {
			return filepath.Dir(path), filepath.Base(path), true
		}
		if name, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(name) {
			return root, name, true
		}
	}
	return "", "", false
}

// readBelow reads a regular file inside dir. os.Root rejects a link that leads out of dir.
func readBelow(dir, name string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	// A named pipe in place of the file must not block the start.
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	value, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err == nil && len(value) > maxSecret {
		err = fmt.Errorf("it is larger than %d bytes", maxSecret)
	}
	return string(value), err
}

// reason returns the error without the path, which the message has already.
func reason(err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		return pathError.Err
	}
	return err
}
