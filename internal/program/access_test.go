//go:build unix

package program

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// stranger is a user that owns nothing here and shares no group with the tests' user.
var stranger = User{Name: "stranger", UID: 3_000_000_001, GID: 3_000_000_001}

func TestAUserReadsWhatItsOwnerGroupAndModeAllow(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "interlock-access-") // which every user may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	member, owner := stranger, stranger
	member.Groups, owner.UID = []uint32{uint32(os.Getgid())}, uint32(os.Getuid())
	file := filepath.Join(dir, "keys", "key")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(file, -1, os.Getgid()); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name      string
		user      User
		dir, file os.FileMode
		open      bool
	}{
		{"closed to others", stranger, 0o755, 0o600, false},
		{"open to others", stranger, 0o755, 0o604, true},
		{"in a closed directory", stranger, 0o700, 0o644, false},
		{"in a directory that cannot be listed", stranger, 0o711, 0o604, true},
		{"open to the group alone", stranger, 0o755, 0o640, false},
		{"open to the user's group", member, 0o755, 0o640, true},
		{"closed to the user's group", member, 0o755, 0o604, false},
		{"its owner can open it", owner, 0o755, 0o000, true},
	} {
		for path, mode := range map[string]os.FileMode{dir: 0o755, filepath.Dir(file): tt.dir, file: tt.file} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{file, filepath.Dir(file), dir} { // a directory includes everything below it
			found, _, err := tt.user.reaches(path)
			if err != nil {
				t.Fatal(err)
			}
			if (found != "") != tt.open || found != file && tt.user.UID != owner.UID && tt.open {
				t.Errorf("%s, asked about %s: %q can be read, want that of %s: %t", tt.name, path, found, file, tt.open)
			}
		}
		os.Chmod(filepath.Dir(file), 0o700)
	}
}

func TestAUserChangesWhatItsGroupAndModeAllow(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "interlock-access-") // which is sticky, so nobody replaces what is in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	member := stranger
	member.Groups = []uint32{uint32(os.Getgid())}
	data, file := filepath.Join(dir, "data"), filepath.Join(dir, "data", "key")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name            string
		above, at, file os.FileMode
		want            string
	}{
		{"closed", 0o755, 0o755, 0o600, ""},
		{"the group can replace files", 0o755, 0o770, 0o600, data},
		{"the group can replace files that it cannot list", 0o755, 0o730, 0o600, data},
		{"the group can write but not enter", 0o755, 0o720, 0o600, ""},
		{"the group can write the file", 0o755, 0o750, 0o620, file},
		{"the group can replace the directory", 0o770, 0o700, 0o600, dir},
		{"the directory above is sticky", 0o770 | os.ModeSticky, 0o700, 0o600, ""},
	} {
		for path, mode := range map[string]os.FileMode{dir: tt.above, data: tt.at, file: tt.file} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		if found, _, err := member.reaches(data); err != nil || found != tt.want {
			t.Errorf("%s: %q can be changed, want %q (%v)", tt.name, found, tt.want, err)
		}
	}
}

func TestAUserWhoIsNotApartIsRefused(t *testing.T) {
	open := filepath.Join(t.TempDir(), "gone")
	root, own := stranger, stranger
	root.UID, own.UID = 0, uint32(os.Geteuid())
	refused := []struct {
		user User
		want string
	}{{root, "use an unprivileged user"}}
	if os.Geteuid() == 0 {
		if err := (Policy{User: &stranger}).Check(open, "/etc/shadow"); err != nil {
			t.Errorf("root cannot run programs as %s: %v", stranger.Name, err)
		}
		refused = append(refused, struct {
			user User
			want string
		}{stranger, "stranger can read /etc/passwd"})
	} else {
		refused = append(refused, []struct {
			user User
			want string
		}{{own, "is the user that runs the controller"}, {stranger, "needs root"}}...)
	}
	for _, tt := range refused {
		if err := (Policy{User: &tt.user}).Check(open, "/etc/passwd"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
	if err := (Policy{}).Check("/etc/passwd"); err != nil {
		t.Errorf("without a user: %v", err)
	}
}

func TestFindUserByNameAndNumber(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{me.Username, me.Uid} {
		got, err := FindUser(name)
		if err != nil {
			t.Fatal(err)
		}
		if got.Name != me.Username || strconv.Itoa(int(got.UID)) != me.Uid || strconv.Itoa(int(got.GID)) != me.Gid || got.Home != me.HomeDir || len(got.Groups) == 0 {
			t.Errorf("%s: %+v, want %+v", name, got, me)
		}
	}
	if _, err := FindUser("no-such-user"); err == nil || !strings.Contains(err.Error(), `no user "no-such-user"`) {
		t.Errorf("got %v", err)
	}
}
