package source

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/sensor"
)

// The headers in which services name a message whose body they deliver without an envelope.
const (
	snsID    = "X-Amz-Sns-Message-Id"
	pubSubID = "X-Goog-Pubsub-Message-Id"
)

// MessageID returns the id that the sender of a message gave it, and which its repeats share: that
// of SNS, Pub/Sub, a CloudEvent or Event Grid, from the message or, if that is delivered without
// its envelope, from the request's headers. It is "" if there is none.
func MessageID(header func(name string) string, body map[string]any) string {
	fields := sensor.Fields(body)
	text := func(path string) string {
		v, _ := fields.At(path).(string)
		return v
	}
	switch {
	case header(snsID) != "":
		return named("sns", header(snsID))
	case header(pubSubID) != "":
		return named("pubsub", header(pubSubID))
	case header("Ce-Id") != "":
		return named("cloudevents", header("Ce-Source"), header("Ce-Id"))
	case text("MessageId") != "" && text("TopicArn") != "" && text("Type") != "":
		return named("sns", text("MessageId"))
	case text("message.messageId") != "":
		return named("pubsub", text("message.messageId"))
	case text("message.message_id") != "":
		return named("pubsub", text("message.message_id"))
	case text("specversion") != "" && text("id") != "" && text("source") != "":
		return named("cloudevents", text("source"), text("id"))
	case text("eventType") != "" && text("id") != "" && text("eventTime") != "":
		return named("eventgrid", text("topic"), text("id"))
	}
	return ""
}

func named(service string, id ...string) string {
	return fmt.Sprintf("%s %q", service, id)
}

// Dedupe returns the id of a message at the source's dedupe path. given is false if the source has
// none; an error means that the path finds nothing that identifies the message.
func (d *Definition) Dedupe(body map[string]any) (id string, given bool, err error) {
	if d.dedupe == nil {
		return "", false, nil
	}
	values, err := d.dedupe.find(body)
	if err == nil && len(values) == 0 {
		err = fmt.Errorf("%s finds nothing", d.dedupe.query)
	}
	parts := make([]string, 0, len(values))
	for _, v := range values {
		switch v.(type) {
		case string, int64, float64, bool:
			parts = append(parts, sensor.Literal(v))
		default:
			err = fmt.Errorf("%s finds %.80s, which is not text", d.dedupe.query, sensor.Literal(v))
		}
	}
	if err != nil {
		return "", true, fmt.Errorf("dedupe: a repeat of the message is not recognised: %w", err)
	}
	return named("dedupe", parts...), true, nil
}

// ValidationCode returns the code of the event with which Event Grid validates an address before it
// delivers to it; "" for any other event.
func ValidationCode(body map[string]any) string {
	if body["eventType"] != "Microsoft.EventGrid.SubscriptionValidationEvent" {
		return ""
	}
	code, _ := sensor.Fields(body).At("data.validationCode").(string)
	return code
}

// Confirmation is SNS's request to confirm a subscription, or its notice that the subscription has
// ended. A person must open its link; Interlock never does.
type Confirmation struct {
	At    time.Time `json:"at"`
	Topic string    `json:"topic"`
	Link  string    `json:"link"`
	Ended bool      `json:"ended,omitempty"` // the link subscribes again
}

// Asks describes what SNS asks for.
func (c Confirmation) Asks() string {
	if c.Ended {
		return fmt.Sprintf("SNS has ended the subscription to %.200s", c.Topic)
	}
	return fmt.Sprintf("SNS asks to confirm the subscription to %.200s", c.Topic)
}

// ConfirmationOf returns the confirmation that a message of SNS asks for; false if it asks for
// none.
// The error says that its link is not one of SNS's.
func ConfirmationOf(body map[string]any) (Confirmation, bool, error) {
	if kind := body["Type"]; kind != "SubscriptionConfirmation" && kind != "UnsubscribeConfirmation" {
		return Confirmation{}, false, nil
	}
	link, _ := body["SubscribeURL"].(string)
	topic, _ := body["TopicArn"].(string)
	if link == "" || topic == "" {
		return Confirmation{}, false, nil
	}
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "https" || u.User != nil || !ofSNS(u.Hostname()) {
		return Confirmation{}, true, errors.New("the SubscribeURL is not an https address of SNS; it is not shown")
	}
	return Confirmation{Topic: topic, Link: link, Ended: body["Type"] == "UnsubscribeConfirmation"}, true, nil
}

// ofSNS reports whether a host is one of SNS's: sns.REGION.amazonaws.com, or that of another
// partition.
func ofSNS(host string) bool {
	host = strings.ToLower(host)
	for _, suffix := range []string{".amazonaws.com", ".amazonaws.com.cn", ".amazonaws.eu", ".api.aws"} {
		if rest, ok := strings.CutSuffix(host, suffix); ok {
			return strings.HasPrefix(rest, "sns.") || rest == "sns" || strings.HasPrefix(rest, "sns-fips.")
		}
	}
	return false
}

// TopicOf returns the topic of SNS that a message came from; "" if it did not come from one.
func TopicOf(f Format, body map[string]any) string {
	topic, _ := body["TopicArn"].(string)
	if f != JSON {
		return ""
	}
	return topic
}
