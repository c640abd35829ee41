package lambda

import (
	"encoding/json"
	"maps"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/run"
)

// Lambda's own limits on a payload.
const (
	maxPayload      = 6 << 20
	maxAsyncPayload = 1 << 20
)

// payload returns the function's payload: a mapping with the run's id in it, or the file's text or list.
func (f function) payload() (string, error) {
	payload := f.Payload
	if mapping, is := payload.(map[string]any); is || payload == nil {
		payload = f.withKey(mapping)
	}
	text, isText := payload.(string)
	if !isText || !json.Valid([]byte(text)) {
		var err error
		if text, err = awsapi.JSON(payload); err != nil {
			return "", job.Refuse(run.Permanent, "write job.config.payload as JSON: %s", f.Attempt.Secrets.Text(err.Error()))
		}
	}
	most := maxPayload
	if f.Async {
		most = maxAsyncPayload
	}
	if len(text) > most {
		return "", job.Refuse(run.Permanent, "job.config.payload has %d bytes; Lambda accepts at most %d: pass large data by reference, such as an S3 key", len(text), most)
	}
	return text, nil
}

// withKey adds what a function needs to recognise a repeated event and, if it reports its result, to report it.
func (f function) withKey(payload map[string]any) map[string]any {
	all := map[string]any{"interlock_run_id": string(f.Attempt.ID)}
	if f.Async && f.Attempt.Callback.URL != "" {
		all["interlock_callback_url"], all["interlock_callback_token"] = f.Attempt.Callback.URL, f.Attempt.Callback.Token
	}
	maps.Copy(all, payload)
	return all
}
