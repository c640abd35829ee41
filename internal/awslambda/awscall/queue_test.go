package awscall_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/awslambda/awscall"
	"github.com/interlock-go/interlock/internal/job/awstest"
)

const address = "https://sqs.eu-west-1.amazonaws.com/123456789012/test-interlock-alerts"

func TestMessageIsPutBackForAsLongAsTheQueueAllows(t *testing.T) {
	for after, want := range map[time.Duration]int32{time.Millisecond: 1, 17 * time.Second: 17, 17*time.Second + 1: 18, time.Hour: 900} {
		var got struct {
			QueueUrl, MessageBody string
			DelaySeconds          int32
		}
		server := awstest.NewServer(t, awstest.Operations{"AmazonSQS.SendMessage": func(w http.ResponseWriter, r *http.Request) {
			got = awstest.Read[struct {
				QueueUrl, MessageBody string
				DelaySeconds          int32
			}](t, r)
			awstest.Reply(w, map[string]string{"MessageId": "1", "MD5OfMessageBody": "841a2d689ad86bd1611447453c22c6fc"})
		}})
		env := map[string]string{"AWS_REGION": awstest.Region, "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key", "AWS_ENDPOINT_URL": server.URL}
		q := awscall.NewQueue(awscall.Config(func(name string) string { return env[name] }), address)
		if err := q.Later(t.Context(), "body", after); err != nil {
			t.Fatal(err)
		}
		if got.QueueUrl != address || got.MessageBody != "body" || got.DelaySeconds != want {
			t.Errorf("after %s: sent %+v, want a delay of %d s", after, got, want)
		}
	}
}
