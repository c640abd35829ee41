package api_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/memory"
)

// Source files for the services that push, as docs/SOURCES.md shows them.
const (
	lakeSNS = `source: {id: lake-sns, owner: x, format: json}
each: [{path: $.Message, decode: json}, '$.Records[*]']
match:
  - {path: $.eventName, matches: '^ObjectCreated:'}
  - {path: $.s3.object.key, decode: url, matches: '^orders/(?P<day>\d{4}-\d{2}-\d{2})/(?P<file>[^/]+)$'}
write: [{pipeline: orders, key: landed, period: "${day}", fields: {file: "${file}", size: {path: $.s3.object.size}}}]
`
	lakeQueue = `source: {id: lake-queue, owner: x, format: json}
each: ['$.Records[*]', {path: $.body, decode: json}, {path: $.Message, decode: json}, '$.Records[*]']
match: [{path: $.s3.object.key, decode: url, matches: '^orders/(?P<day>\d{4}-\d{2}-\d{2})/'}]
write: [{pipeline: orders, key: landed, period: "${day}", fields: {size: {path: $.s3.object.size}}}]
`
	lakeGCS = `source: {id: lake-gcs, owner: x, format: json}
each: {path: $.message.data, decode: [base64, json]}
match: [{path: $$.message.attributes.eventType, equals: OBJECT_FINALIZE}, {path: $.name, matches: '^orders/'}]
write: [{pipeline: orders, key: landed, period: {path: $.timeCreated}, fields: {file: {path: $.name}, size: {path: $.size}}}]
`
	lakeAzure = `source: {id: lake-azure, owner: x, format: json}
match: [{path: $.eventType, equals: Microsoft.Storage.BlobCreated}, {path: $.subject, decode: url, matches: '/blobs/orders/(?P<day>\d{4}-\d{2}-\d{2})/'}]
write: [{pipeline: orders, key: landed, period: "${day}", fields: {size: {path: $.data.contentLength}}}]
`
)

var (
	lakeRaw   = strings.NewReplacer("lake-sns", "lake-raw", "[{path: $.Message, decode: json}, '$.Records[*]']", "'$.Records[*]'").Replace(lakeSNS)
	lakePlain = strings.NewReplacer("lake-gcs", "lake-plain", "each: {path: $.message.data, decode: [base64, json]}\n", "", "{path: $$.message.attributes.eventType, equals: OBJECT_FINALIZE}, ", "").Replace(lakeGCS)
	lakeCloud = strings.NewReplacer("lake-azure", "lake-cloud", "format: json", "format: cloudevents", "$.eventType", "$.type").Replace(lakeAzure)
)

// created is S3's notification of new objects, whose keys are URL-encoded.
func created(keys ...string) string {
	var all []string
	for _, key := range keys {
		all = append(all, fmt.Sprintf(`{"eventVersion":"2.1","eventSource":"aws:s3","awsRegion":"eu-west-1","eventTime":"2026-03-03T08:00:01.234Z","eventName":"ObjectCreated:Put",
"userIdentity":{"principalId":"AWS:A"},"requestParameters":{"sourceIPAddress":"10.0.0.1"},"responseElements":{"x-amz-request-id":"R"},
"s3":{"s3SchemaVersion":"1.0","configurationId":"c","bucket":{"name":"lake","ownerIdentity":{"principalId":"A"},"arn":"arn:aws:s3:::lake"},"object":{"key":%q,"size":1024,"eTag":"d4","sequencer":"0055AED6DCD90281E5"}}}`, key))
	}
	return `{"Records":[` + strings.Join(all, ",") + `]}`
}

func notification(id, text string) string {
	return fmt.Sprintf(`{"Type":"Notification","MessageId":%q,"TopicArn":"arn:aws:sns:eu-west-1:123456789012:lake","Subject":"Amazon S3 Notification","Message":%q,
"Timestamp":"2026-03-03T08:00:02.000Z","SignatureVersion":"1","Signature":"c2ln","SigningCertURL":"https://sns.eu-west-1.amazonaws.com/cert.pem","UnsubscribeURL":"https://sns.eu-west-1.amazonaws.com/?Action=Unsubscribe"}`, id, text)
}

const finalized = `{"kind":"storage#object","id":"lake/orders/a b.csv/1","name":"orders/a b.csv","bucket":"lake","contentType":"text/csv","timeCreated":"2026-03-03T08:00:00.123Z","size":"512"}`

func pushed(id string) string {
	return fmt.Sprintf(`{"message":{"attributes":{"bucketId":"lake","eventType":"OBJECT_FINALIZE","objectId":"orders/a b.csv","payloadFormat":"JSON_API_V1"},"data":%q,"messageId":%q,"message_id":%q,
"publishTime":"2026-03-03T08:00:01Z","publish_time":"2026-03-03T08:00:01Z"},"subscription":"projects/p/subscriptions/interlock"}`, base64.StdEncoding.EncodeToString([]byte(finalized)), id, id)
}

func gridEvent(id string) string {
	return fmt.Sprintf(`{"topic":"/subscriptions/s/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/lake","subject":"/blobServices/default/containers/lake/blobs/orders/2026-03-03/a.csv",
"eventType":"Microsoft.Storage.BlobCreated","id":%q,"data":{"api":"PutBlob","contentType":"text/csv","contentLength":524288,"blobType":"BlockBlob"},"dataVersion":"","metadataVersion":"1","eventTime":"2026-03-03T08:00:00Z"}`, id)
}

func gridCloudEvent(id string) string {
	return fmt.Sprintf(`{"specversion":"1.0","type":"Microsoft.Storage.BlobCreated","source":"/subscriptions/s/storageAccounts/lake","id":%q,"time":"2026-03-03T08:00:00Z",
"subject":"/blobServices/default/containers/lake/blobs/orders/2026-03-03/a.csv","data":{"api":"PutBlob","contentLength":524288}}`, id)
}

// in returns the address of a source.
func in(source string) string { return "/in/" + sensorToken + "/" + source }

// delivered posts a message and compares the response.
func (w *world) delivered(source, body, want string, headers ...string) {
	w.Helper()
	w.token = ""
	got := w.request("POST", in(source), body, headers...)
	if got.status != http.StatusOK || !strings.HasPrefix(strings.TrimSpace(string(got.body)), want) {
		w.Errorf("%s: %d %s, want %s", source, got.status, got.body, want)
	}
}

const snsHeaders = "Content-Type: text/plain; charset=UTF-8"

// Each service delivers a message twice. The second time nothing is written.
func TestServicesThatPush(t *testing.T) {
	rawHeaders := []string{snsHeaders, "x-amz-sns-message-type: Notification", "x-amz-sns-message-id: raw-1", "x-amz-sns-rawdelivery: true"}
	for _, c := range []struct {
		name, source, id, body string
		n                      int
		headers                []string
		want                   string // of the reading
	}{
		{"S3 through SNS", lakeSNS, "lake-sns", notification("m1", created("orders/2026-03-03/a+b%C3%BC.csv", "orders/2026-03-04/c.csv", "other/x")), 2, []string{snsHeaders, "x-amz-sns-message-id: m1"}, `"file":"a bü.csv","size":1024`},
		{"S3 through SNS, raw", lakeRaw, "lake-raw", created("orders/2026-03-03/a.csv"), 1, rawHeaders, `"file":"a.csv","size":1024`},
		{"S3 through SNS and SQS", lakeQueue + "dedupe: {path: '$.Records[*].messageId'}\n", "lake-queue", fmt.Sprintf(`{"Records":[{"messageId":"q1","receiptHandle":"r","body":%q,"eventSource":"aws:sqs"}]}`, notification("m1", created("orders/2026-03-03/a.csv"))), 1, nil, `"size":1024`},
		{"GCS through Pub/Sub", lakeGCS, "lake-gcs", pushed("p1"), 1, []string{"Content-Type: application/json"}, `"file":"orders/a b.csv","size":"512"`},
		{"GCS through Pub/Sub, unwrapped", lakePlain, "lake-plain", finalized, 1, []string{"Content-Type: application/json", "x-goog-pubsub-message-id: p1"}, `"size":"512"`},
		{"Event Grid", lakeAzure, "lake-azure", "[" + gridEvent("g1") + "," + gridEvent("g2") + "]", 2, []string{"aeg-event-type: Notification", "Content-Type: application/json"}, `"size":524288`},
		{"Event Grid, CloudEvents", lakeCloud, "lake-cloud", gridCloudEvent("g1"), 1, []string{"aeg-event-type: Notification", "Content-Type: application/cloudevents+json; charset=utf-8"}, `"size":524288`},
		{"Event Grid, CloudEvents in batches", lakeCloud, "lake-cloud", "[" + gridCloudEvent("g1") + "]", 1, []string{"Content-Type: application/cloudevents-batch+json"}, `"size":524288`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, withTokens)
			w.useSources(c.source)
			messages := 1 + strings.Count(c.body, `"metadataVersion"`) - min(1, strings.Count(c.body, `"metadataVersion"`))
			w.delivered(c.id, c.body, fmt.Sprintf(`{"matched":%d,"written":%d,"repeated":0,"problems":[]}`, messages, c.n), c.headers...)
			w.delivered(c.id, c.body, fmt.Sprintf(`{"matched":%d,"written":0,"repeated":%d,"problems":[]}`, messages, c.n), c.headers...)
			w.token = viewerToken
			if got := w.get("/api/v1/pipelines/orders/sensors/landed?date=2026-03-03"); !strings.Contains(string(got.body), c.want) {
				t.Errorf("%d %s", got.status, got.body)
			}
			w.Move(w.Now().Add(25 * time.Hour))
			w.delivered(c.id, c.body, fmt.Sprintf(`{"matched":%d,"written":%d,`, messages, c.n), c.headers...)
		})
	}
}

func TestAddressIsValidated(t *testing.T) {
	w := newWorld(t, withTokens)
	w.useSources(lakeAzure, lakeCloud, lakeSNS)
	const validation = `[{"id":"2d1781af","topic":"/subscriptions/s","subject":"","data":{"validationCode":"512d38b6-c7b8-40c8-89fe-f46f9e9622b6","validationUrl":"https://rp-eastus2.eventgrid.azure.net/validate"},
"eventType":"Microsoft.EventGrid.SubscriptionValidationEvent","eventTime":"2026-03-03T08:00:00Z","metadataVersion":"1","dataVersion":"1"}]`
	w.delivered("lake-azure", validation, `{"validationResponse":"512d38b6-c7b8-40c8-89fe-f46f9e9622b6"}`, "aeg-event-type: SubscriptionValidation")
	got := w.request("OPTIONS", in("lake-cloud"), "", "WebHook-Request-Origin: eventgrid.azure.net")
	if got.status != http.StatusOK || got.header.Get("WebHook-Allowed-Origin") != "eventgrid.azure.net" {
		t.Errorf("%d %v", got.status, got.header)
	}
	w.request("OPTIONS", "/in/unknown-0123456789/lake-cloud", "", "WebHook-Request-Origin: eventgrid.azure.net").problem(404)

	confirm := `{"Type":"SubscriptionConfirmation","MessageId":"c1","Token":"2336","TopicArn":"arn:aws:sns:eu-west-1:123456789012:lake","Message":"You have chosen to subscribe","SubscribeURL":"https://%s/?Action=ConfirmSubscription&Token=2336","Timestamp":"2026-03-03T08:00:00Z"}`
	w.delivered("lake-sns", fmt.Sprintf(confirm, "evil.example"), `{"matched":0,"written":0,"repeated":0,"problems":[{"source":"lake-sns","write":-1,"pipeline":"","key":"","message":"the SubscribeURL is not an https address of SNS`, snsHeaders)
	w.delivered("lake-sns", fmt.Sprintf(confirm, "sns.eu-west-1.amazonaws.com"), `{"matched":0,"written":0,"repeated":0,"problems":[{"source":"lake-sns","write":-1,"pipeline":"","key":"","message":"SNS asks to confirm the subscription`, snsHeaders)
	shown := func() bool {
		w.token = viewerToken
		return strings.Contains(string(w.get("/api/v1/sources").body), `"link":"https://sns.eu-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=2336"`)
	}
	if !shown() {
		t.Errorf("the link is not shown: %s", w.get("/api/v1/sources").body)
	}
	w.Move(w.Now().Add(time.Minute))
	w.delivered("lake-sns", strings.Replace(notification("m0", created("orders/2026-03-03/a.csv")), ":lake", ":other", 1), `{"matched":1,"written":1,`)
	if !shown() {
		t.Error("a message of another topic hides the link")
	}
	w.delivered("lake-sns", notification("m1", created("orders/2026-03-03/a.csv")), `{"matched":1,"written":1,`)
	if shown() {
		t.Error("the link is shown although messages come")
	}
}

// A service may deliver a message again in a list with others, at another place.
func TestRepeatIsRecognisedAtAnyPlaceOfAList(t *testing.T) {
	w := newWorld(t, withTokens)
	w.useSources(lakeAzure)
	w.delivered("lake-azure", "["+gridEvent("g1")+","+gridEvent("g2")+"]", `{"matched":2,"written":2,"repeated":0,"problems":[]}`)
	w.delivered("lake-azure", "["+gridEvent("g2")+","+gridEvent("g3")+","+gridEvent("g1")+"]", `{"matched":3,"written":1,"repeated":2,"problems":[]}`)
}

// A confirmation link counts only from a token that may write a pipeline of the source.
func TestConfirmationNeedsAPipelineOfTheSource(t *testing.T) {
	confirm := func(topic string) string {
		return fmt.Sprintf(`{"Type":"SubscriptionConfirmation","MessageId":"c1","TopicArn":"arn:aws:sns:eu-west-1:1:%[1]s","SubscribeURL":"https://sns.eu-west-1.amazonaws.com/?Topic=%[1]s"}`, topic)
	}
	const shared = "source: {id: shared, owner: x, format: json}\nwrite: [{pipeline: orders, key: k, fields: {n: 1}}, {pipeline: silver-orders, key: k, fields: {n: 1}}]\n"
	const any = "source: {id: any, owner: x, format: json}\nmatch: [{path: $.x, matches: '^(?P<name>[a-z-]+)$'}]\nwrite: [{pipeline: '${name}', key: k, fields: {n: 1}}]\n"
	w := newWorld(t, withTokens)
	w.useSources(lakeSNS, shared, any)
	w.delivered("lake-sns", confirm("real"), `{"matched":0,"written":0,"repeated":0,"problems":[{"source":"lake-sns","write":-1,"pipeline":"","key":"","message":"SNS asks to confirm`)
	for id, want := range map[string]string{
		"lake-sns": `"message":"the token may write to none of the pipelines of source lake-sns"`,
		"shared":   `"message":"SNS asks to confirm the subscription`,
		"any":      `"message":"SNS asks to confirm the subscription`,
	} {
		w.token = ""
		got := w.request("POST", "/in/"+limitedToken+"/"+id, confirm("forged"))
		if got.status != http.StatusOK || !strings.Contains(string(got.body), want) {
			t.Errorf("%s: %d %s, want %s", id, got.status, got.body, want)
		}
	}
	w.token = viewerToken
	sources := string(w.get("/api/v1/sources").body)
	if !strings.Contains(sources, "amazonaws.com/?Topic=real") || strings.Count(sources, "amazonaws.com/?Topic=forged") != 2 {
		t.Errorf("a token replaced the link of a source that it may not write to, or none of one that it may: %s", sources)
	}
}

// A list with Event Grid's validation event is answered with the code, and the other messages of
// the list are written.
func TestValidationDropsNoMessage(t *testing.T) {
	const validation = `{"id":"v","topic":"/s","subject":"","data":{"validationCode":"512d"},"eventType":"Microsoft.EventGrid.SubscriptionValidationEvent","eventTime":"2026-03-03T08:00:00Z"}`
	for name, list := range map[string][]string{"first": {validation, gridEvent("g1")}, "last": {gridEvent("g1"), validation}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, withTokens)
			w.useSources(lakeAzure)
			w.delivered("lake-azure", "["+strings.Join(list, ",")+"]", `{"validationResponse":"512d"}`)
			w.token = viewerToken
			if got := w.get("/api/v1/pipelines/orders/sensors/landed?date=2026-03-03"); !strings.Contains(string(got.body), `"size":524288`) {
				t.Errorf("the other message of the list is not written: %d %s", got.status, got.body)
			}
		})
	}
}

// What would fail in the same way again is answered with 200, so that it is not redelivered.
func TestFaultyMessageIsNotRedelivered(t *testing.T) {
	w := newWorld(t, withTokens)
	w.useSources(lakeSNS, lakeRaw, lakeAzure, lakeCloud, "source: {id: keyed, owner: x, format: json}\ndedupe: {path: $.id}\nwrite: [{pipeline: orders, key: k, fields: {n: {path: $.n}}}]\n")
	var many []string
	for range 1001 {
		many = append(many, "orders/2026-03-03/a.csv")
	}
	for _, c := range []struct{ source, body, written, problem string }{
		{"lake-raw", `{`, `"written":0`, "it ends in the middle"},
		{"lake-raw", ``, `"written":0`, "data is empty"},
		{"lake-raw", `"text"`, `"written":0`, "data is text"},
		{"lake-raw", `{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, `"written":0`, "nested deeper than 100 levels"},
		{"lake-raw", strings.Repeat(" ", 1<<20+1), `"written":0`, "the request body is too large"},
		{"lake-raw", created("orders/2026-03-03/a.csv", "orders/%zz"), `"written":1`, "element 1: nothing is written: match[1]: cannot decode"},
		{"lake-raw", created("orders/2026-13-03/a.csv", "orders/2026-03-03/a.csv"), `"written":1`, "element 0: nothing is written: the period cannot be read"},
		{"lake-sns", notification("m1", "not json"), `"written":0`, `each[0]: cannot decode \"not json\" as json: it is not JSON`},
		{"lake-cloud", `[{"specversion":"1.0"},` + gridCloudEvent("a") + `]`, `"written":1`, "message 0: nothing is written: attribute id is missing"},
		{"keyed", `{"n":1}`, `"written":1`, "dedupe: a repeat of the message is not recognised: $[\\\"id\\\"] finds nothing"},
		{"lake-azure", "[" + gridEvent("a") + `, 5]`, `"written":0`, "event 1 of the batch: it is not a JSON object"},
	} {
		got := w.request("POST", in(c.source), c.body, snsHeaders)
		if got.status != http.StatusOK || !strings.Contains(string(got.body), c.written) || !strings.Contains(string(got.body), c.problem) {
			t.Errorf("%.80s: %d %s, want %s", c.body, got.status, got.body, c.problem)
		}
	}
	large := zipped(created(many...))
	got := w.request("POST", in("lake-raw"), large, "Content-Encoding: gzip")
	if got.status != http.StatusOK || !strings.Contains(string(got.body), `"written":0`) || !strings.Contains(string(got.body), "more than 1000 readings") {
		t.Errorf("1001 records: %d %s", got.status, got.body)
	}
	w.token = sensorToken
	w.request("POST", "/api/v1/ingest/lake-raw", large, "Content-Encoding: gzip").problem(413, "event 0: the message gives more than 1000 readings")
}

// flaky is a store that is not available while off.
type flaky struct {
	*memory.Store
	off bool
}

func (a *flaky) PutReadings(c context.Context, writes []store.Write, now time.Time) ([]store.Put, error) {
	if a.off {
		return nil, fmt.Errorf("no connection: %w", store.ErrAway)
	}
	return a.Store.PutReadings(c, writes, now)
}

func TestMessageIsRedelivered(t *testing.T) {
	var s *flaky
	w := newWorld(t, withTokens, func(d *api.Deps) {
		s = &flaky{Store: d.Store.(*memory.Store)}
		d.Store, d.Settings.Limits = s, api.Limits{SensorKeys: 2}
	})
	w.useSources("source: {id: files, owner: x, format: json}\neach: $.files[*]\nwrite: [{pipeline: orders, key: {path: $.key}, fields: {n: 1}}]\n")
	message := `{"specversion":"1.0","id":"1","source":"/x","files":[{"key":"a"},{"key":"b"},{"key":"c"}]}`
	again := func(status int, parts ...string) {
		t.Helper()
		got := w.request("POST", in("files"), message)
		got.problem(status, parts...)
		if got.header.Get("Retry-After") == "" {
			t.Errorf("%d without Retry-After", status)
		}
	}
	again(429, "limits.sensorKeys")
	w.token = viewerToken
	if got := w.get("/api/v1/pipelines/orders/sensors").items(); len(got) != 0 {
		t.Errorf("a part of the message is stored: %v", got)
	}
	message = strings.Replace(message, `,{"key":"c"}`, "", 1)
	s.off = true
	again(503, "the store is unavailable")
	s.off = false
	w.delivered("files", message, `{"matched":1,"written":2,"repeated":0,"problems":[]}`)
	w.delivered("files", message, `{"matched":1,"written":0,"repeated":2,"problems":[]}`)
	w.request("POST", in("nothing"), message).problem(503, "no source \"nothing\" is active")

	full := newWorld(t, withTokens, func(d *api.Deps) {
		d.Trouble = func() error { return &store.Fault{Kind: store.Full, Remedy: "make room"} }
	})
	full.useSources(bridge)
	full.request("POST", in("bridge"), `{}`).problem(503)
}

// Without a token of the role sensor every response is the same.
func TestInRevealsNothing(t *testing.T) {
	w := newWorld(t, withTokens)
	w.useSources(bridge)
	want := w.request("POST", "/in/unknown-0123456789/bridge", "{}").problem(404, "/in/TOKEN/SOURCE")
	for _, path := range []string{
		"/in/unknown-0123456789/nothing", "/in/" + viewerToken + "/bridge", "/in/" + operatorToken + "/bridge", "/in/" + adminToken + "/bridge", "/in/" + runnerToken + "/bridge",
		"/in", "/in/", in(""), in("bridge") + "/x", "/in/" + sensorToken, "//in/" + sensorToken + "/bridge", "/./in/" + sensorToken + "/bridge", "/%69n/" + sensorToken + "/bridge",
	} {
		got := w.request("POST", path, "{}")
		if path == in("") {
			continue // a known token, without a source
		}
		p := got.problem(404)
		p["requestId"] = want["requestId"]
		if fmt.Sprint(p) != fmt.Sprint(want) {
			t.Errorf("%s: %v", path, p)
		}
	}
	w.get(in("bridge")).problem(405, "use POST")
	w.request("POST", in("bridge"), "{}", "Sec-Fetch-Site: cross-site").problem(403, "problem:cross-origin")
	w.token = ""
	got := w.request("POST", "/in/"+limitedToken+"/bridge", `{"depth":1}`)
	if !strings.Contains(string(got.body), "pipelines that the token may not see (problems: 1)") {
		t.Errorf("a limited token: %d %s", got.status, got.body)
	}
}

func TestAddressesWithTokensAreNotLogged(t *testing.T) {
	w := newWorld(t, withTokens)
	w.useSources(bridge)
	for _, path := range []string{
		in("bridge"), in("nothing"), "/in/unknown-0123456789/bridge", "/in/" + viewerToken + "/bridge", "//in/" + sensorToken + "/bridge", "/x/../in/" + sensorToken + "/bridge",
		"//ping/" + sensorToken + "/orders/x", "/%70ing/" + sensorToken + "/orders/x", "/in/" + sensorToken + "/bridge/more?token=" + viewerToken,
		"/IN/" + sensorToken + "/bridge", "/Ping/" + sensorToken + "/orders/x", "/api/in/" + sensorToken + "/bridge", "/api/v1/in/" + sensorToken + "/bridge",
		"/interlock/in/" + sensorToken + "/bridge", "/interlock/ping/" + sensorToken + "/orders/x/fail", "/in/" + sensorToken + "/../..", "/in%2F" + sensorToken + "/../../x",
	} {
		for _, method := range []string{"POST", "GET", "OPTIONS", "DELETE"} {
			w.request(method, path, "{")
		}
	}
	log := w.log.String()
	w.token = viewerToken
	log += string(w.get("/metrics").body)
	for _, secret := range []string{sensorToken, viewerToken, "unknown-0123456789"} {
		if strings.Contains(log, secret) {
			t.Errorf("%s is in the log or the metrics:\n%s", secret, log)
		}
	}
	if !strings.Contains(log, `"path":"/in"`) || !strings.Contains(log, `route="/in/{token}/{source}"`) {
		t.Errorf("messages are not logged or counted:\n%s", log)
	}
}

func TestLoggedPathEndsBeforeAToken(t *testing.T) {
	for path, want := range map[string]string{
		"/in/secret/bridge": "/in", "/ping/secret/orders/x": "/ping", "/IN/secret/bridge": "/IN", "/interlock/in/secret/x": "/interlock/in",
		"/in/secret/../..": "/in", "/x/../in/secret": "/x/../in", "/%70ing/secret": "/ping", "/in%2Fsecret/x": "/in", "//in//secret": "//in",
		"/api/v1/ingest/bridge": "/api/v1/ingest/bridge", "/pings": "/pings", "/": "/", "": "",
	} {
		u, err := url.Parse("http://interlock.example" + path)
		if err != nil {
			t.Fatal(err)
		}
		if got := api.LoggedPath(&http.Request{URL: u}); got != want {
			t.Errorf("%s is logged as %s, want %s", path, got, want)
		}
	}
}

// The body of no route may be nested deeper than 100 levels, and deep data does not keep the rest
// of a batch from being stored.
func TestDeepBodiesAreRejected(t *testing.T) {
	w := newWorld(t)
	w.useSources(ordersLanded, sparkDone, strings.ReplaceAll(bridge, "$.depth", "$.deep"))
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	const head = `"eventTime":"2026-03-09T01:00:00Z","eventType":"COMPLETE","producer":"p","schemaURL":"s","run":{"runId":"r"},"job":{"namespace":"n","name":"orders_silver"}`
	for _, n := range []int{100, 5_000, 200_000} {
		for at, c := range map[string][2]string{
			"PUT /api/v1/pipelines/orders/sensors/k":         {`{"x":` + nested(n) + `}`},
			"POST /api/v1/sensors":                           {`[{"pipeline":"orders","key":"k","data":{"x":` + nested(n) + `}}]`},
			"POST /api/v1/cloudevents#structured":            {`{"specversion":"1.0","id":"a","source":"/b","type":"t","data":` + nested(n) + `}`, structured},
			"POST /api/v1/cloudevents#batch":                 {`[{"specversion":"1.0","id":"a","source":"/b","type":"t","data":` + nested(n-1) + `}]`, "Content-Type: application/cloudevents-batch+json"},
			"POST /api/v1/cloudevents#binary":                {nested(n + 1), "ce-specversion: 1.0"},
			"POST /api/v1/lineage":                           {`{` + head + `,"x":` + nested(n) + `}`},
			"POST /api/v1/ingest/bridge":                     {`{"deep":` + nested(n) + `}`},
			"POST /api/v1/ingest/bridge#list":                {`[{"deep":` + nested(n-1) + `}]`},
			"POST /api/v1/runs":                              {`{"pipeline":"orders","x":` + nested(n) + `}`},
			"POST /api/v1/pipelines/orders/pause":            {`{"reason":"x","x":` + nested(n) + `}`},
			"POST /api/v1/runs/orders/cron/2026-03-03/job":   {`{"result":` + nested(n) + `}`},
			"POST /api/v1/runs/orders/cron/2026-03-03/claim": {nested(n + 1)},
			"POST /api/v1/session":                           {`{"token":` + nested(n) + `}`},
			"POST /api/v1/silences":                          {`{"x":` + nested(n) + `}`},
		} {
			method, path, _ := strings.Cut(at, " ")
			path, _, _ = strings.Cut(path, "#")
			headers := []string{"Content-Type: application/json"}
			if c[1] != "" {
				headers = append(headers, c[1], "ce-id: a", "ce-source: /b", "ce-type: t")
			}
			if got := w.request(method, path, c[0], headers...); got.status == http.StatusRequestEntityTooLarge && n > 2_000 {
				continue
			} else if got.status != http.StatusBadRequest && n < 60_000 || got.status >= 500 || !strings.Contains(string(got.body), "nested deeper than") && n < 10_000 {
				t.Errorf("%s with %d levels: %d %.300s", at, n, got.status, got.body)
			}
		}
	}
	w.sent("ingest/bridge", `[{"deep":`+nested(60)+`},{"deep":1}]`, `{"matched":2,"written":2,"repeated":0,"problems":[{`)
}
