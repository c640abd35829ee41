package deploy

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// invoke runs a function for one call, as Lambda does.
func (e *emulated) invoke(w http.ResponseWriter, region, name string, call []byte) {
	e.mu.Lock()
	f := e.of[region+"/"+name]
	e.mu.Unlock()
	if f == nil {
		http.Error(w, `{"Type": "User", "Message": "no such function"}`, http.StatusNotFound)
		return
	}
	answer, err := f.run(e.t, region, e.URL, call)
	if err != nil {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		answer, _ = json.Marshal(map[string]string{"errorMessage": err.Error()})
	}
	_, _ = w.Write(answer) // Terraform reports a cut answer
}

// run starts the program in the zip file, gives it one call through the runtime API and returns its
// answer.
func (u *uploaded) run(t testing.TB, region, aws string, call []byte) ([]byte, error) {
	program, err := u.unzip(t.TempDir())
	if err != nil {
		return nil, err
	}
	answers, asked := make(chan []byte, 1), make(chan struct{}, 1)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/invocation/next") {
			body, _ := io.ReadAll(r.Body) // a cut answer is no JSON
			w.WriteHeader(http.StatusAccepted)
			answers <- body
			return
		}
		select {
		case asked <- struct{}{}:
		default:
			<-r.Context().Done() // there is no second call
			return
		}
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", "1")
		w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()))
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:"+region+":123456789012:function:f")
		_, _ = w.Write(call)
	}))
	defer api.Close()
	cmd := exec.Command(program)
	cmd.Env = []string{"AWS_LAMBDA_RUNTIME_API=" + api.Listener.Addr().String(), "AWS_ENDPOINT_URL=" + aws, "AWS_REGION=" + region, "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b"}
	for name, value := range u.Environment.Variables {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case body := <-answers:
		err := cmd.Process.Kill()
		<-ended
		used := cmd.ProcessState
		t.Logf("a call took %s of a processor and %d MB", (used.UserTime() + used.SystemTime()).Round(time.Millisecond), used.SysUsage().(*syscall.Rusage).Maxrss/1024)
		return body, err
	case err := <-ended:
		return nil, fmt.Errorf("the function ended: %w: %s", err, said.String())
	}
}

func (u *uploaded) unzip(dir string) (string, error) {
	z, err := zip.NewReader(bytes.NewReader(u.Code.ZipFile), int64(len(u.Code.ZipFile)))
	if err != nil {
		return "", err
	}
	from, err := z.Open("bootstrap")
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "bootstrap")
	to, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, from)
	return name, errors.Join(err, to.Close())
}
