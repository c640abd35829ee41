package slack

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	api "github.com/slack-go/slack"

	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/sink/post"
)

const (
	maxPause     = time.Hour // bounds Slack's Retry-After
	defaultPause = 30 * time.Second
)

// Slack's error codes by their consequence. A code in none of these lists is retried.
var (
	// Slack accepts nothing until an operator fixes token, scopes or channel.
	wrongSettings = map[string]string{
		"invalid_auth": token, "not_authed": token, "token_expired": token, "token_revoked": token, "account_inactive": token,
		"not_allowed_token_type": "use a bot token, which begins with xoxb-", "no_permission": scope, "missing_scope": scope, "access_denied": scope,
		"team_access_not_granted": scope, "org_login_required": scope, "ekm_access_denied": scope, "two_factor_setup_required": token,
		"channel_not_found": "check alerts.slack.channel; if the channel is private, invite the bot", "not_in_channel": invite,
		"is_archived":   "the channel is archived; set alerts.slack.channel to another one",
		"accesslimited": "allow the server's network to use Slack's API", "enterprise_is_restricted": scope, "app_access_restricted": scope, "team_not_found": token,
		"messages_tab_disabled": channel, "channel_type_not_supported": channel, "send_on_behalf_not_allowed": scope,
		"deprecated_endpoint": update, "method_deprecated": update,
		"restricted_action": allowed, "restricted_action_read_only_channel": allowed, "restricted_action_non_threadable_channel": allowed, "restricted_action_thread_only_channel": allowed,
	}
	// Slack never accepts this message in this form.
	wrongForm = []string{
		"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "invalid_attachments", "too_many_attachments", "attachment_payload_limit_exceeded",
		"msg_too_long", "invalid_metadata_format", "invalid_metadata_schema", "metadata_too_large", "no_text", "invalid_arguments", "invalid_arg_name", "invalid_array_arg",
		"invalid_charset", "invalid_form_data", "invalid_post_type", "missing_post_type", "invalid_json", "json_not_object", "as_user_not_supported",
		"markdown_text_conflict", "metadata_must_be_sent_from_app", "too_many_contact_cards", "missing_file_data", "blocked_file_type",
	}
	slowDown = []string{"ratelimited", "rate_limited", "message_limit_exceeded"}
	// The message to reply to or update no longer exists, or accepts no replies.
	gone = []string{"message_not_found", "thread_not_found", "cannot_reply_to_message", "invalid_thread_ts", "restricted_action_thread_locked", "thread_locked"}
	// A message cannot be changed, or no longer.
	fixed = []string{
		"edit_window_closed", "cant_update_message", "update_failed", "block_mismatch", "cant_broadcast_message",
		"no_dual_broadcast_content_update", "streaming_state_conflict",
	}
	// Slack says that part of the operation may have succeeded.
	unsure = []string{"internal_error", "fatal_error"}
)

const (
	token   = "check the bot token, and whether the app is still installed"
	scope   = "give the app the scope chat:write and install it again"
	invite  = "invite the bot to the channel, or give it the scope chat:write.public"
	channel = "set alerts.slack.channel to a channel that apps can post to"
	update  = "install a newer version of Interlock"
	allowed = "allow the bot to write to the channel, or set another one in alerts.slack.channel"
)

// errorCode is the form of Slack's own error codes; other text is not repeated.
var errorCode = regexp.MustCompile(`^[a-z0-9_]{1,64}$`)

// neverAccepted reports whether Slack rejects a message for its content, so that a retry is
// useless. The codes of blocked content in shared channels share a prefix.
func neverAccepted(code string) bool {
	return slices.Contains(wrongForm, code) || strings.HasPrefix(code, "slack_connect_") && strings.Contains(code, "blocked")
}

// said returns the error code of an answer; "" if there was none.
func said(err error) string {
	var answer api.SlackErrorResponse
	if !errors.As(err, &answer) {
		return ""
	}
	if !errorCode.MatchString(answer.Err) {
		return "unknown_error"
	}
	return answer.Err
}

// judge converts an error to those of the contract.
func judge(doing string, err error) error {
	code := said(err)
	reason := fmt.Sprintf("slack: %s: %s", doing, code)
	var limited *api.RateLimitedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &limited):
		return &sink.Busy{After: min(max(limited.RetryAfter, time.Second), maxPause), Reason: fmt.Sprintf("slack: %s: too many requests", doing)}
	case slices.Contains(slowDown, code):
		return &sink.Busy{After: defaultPause, Reason: reason}
	case wrongSettings[code] != "":
		return &sink.Misconfigured{Reason: reason + "; " + wrongSettings[code]}
	case neverAccepted(code):
		return &sink.Refused{Reason: reason}
	case code != "":
		return errors.New(reason)
	default:
		return post.Unreachable("slack: "+doing, err)
	}
}

// place is the channel and timestamp of a message.
type place struct{ channel, ts string }

// send posts a message, as a reply if thread is given. If Slack rejects the blocks, it sends plain
// text.
func (s *Sink) send(ctx context.Context, to place, m message, more ...api.MsgOption) (place, error) {
	post := func(form api.MsgOption) (place, error) {
		options := append([]api.MsgOption{form, api.MsgOptionDisableLinkUnfurl(), api.MsgOptionDisableMediaUnfurl()}, more...)
		if to.ts != "" {
			options = append(options, api.MsgOptionTS(to.ts))
		}
		if to.ts != "" && m.broadcast {
			options = append(options, api.MsgOptionBroadcast())
		}
		channel, ts, err := s.client.PostMessageContext(ctx, to.channel, options...)
		return place{channel, ts}, err
	}
	at, err := post(m.form())
	if neverAccepted(said(err)) {
		return post(m.bare())
	}
	return at, err
}

// form returns the message with its blocks.
func (m message) form() api.MsgOption {
	return api.MsgOptionCompose(api.MsgOptionText(m.text, false), api.MsgOptionAttachments(m.attachment))
}

// bare returns the message without blocks.
func (m message) bare() api.MsgOption {
	return api.MsgOptionCompose(api.MsgOptionText(m.attachment.Fallback, false), api.MsgOptionAttachments([]api.Attachment{}...))
}

// rewrite replaces one of our messages with m. A message that Slack does not let us change stays as
// it is.
func (s *Sink) rewrite(ctx context.Context, at place, m message, more ...api.MsgOption) error {
	update := func(form api.MsgOption) error {
		_, _, _, err := s.client.UpdateMessageContext(ctx, at.channel, at.ts, append([]api.MsgOption{form}, more...)...)
		return err
	}
	err := update(m.form())
	if neverAccepted(said(err)) {
		err = update(m.bare())
	}
	if slices.Contains(fixed, said(err)) || neverAccepted(said(err)) {
		return nil
	}
	return err
}

// metadataType marks root messages, so that a search finds one whose place was not stored.
const metadataType = "interlock_thread"

func metadata(key, event string) api.MsgOption {
	return api.MsgOptionMetadata(api.SlackMetadata{EventType: metadataType, EventPayload: map[string]any{"key": key, "event": event}})
}

// skew is the maximum difference between Slack's clock and ours.
const skew = 5 * time.Minute

// search looks for the root message of key among those posted around the time of a claim. It
// returns its timestamp and event id.
func (s *Sink) search(ctx context.Context, channel, key string, c claim) (ts, event string, err error) {
	query := &api.GetConversationHistoryParameters{
		ChannelID: channel, Oldest: stamp(c.From.Add(-skew)), Latest: stamp(c.Until.Add(skew)), Inclusive: true, Limit: 200, IncludeAllMetadata: true,
	}
	for {
		page, err := s.client.GetConversationHistoryContext(ctx, query)
		if err != nil {
			return "", "", err
		}
		for _, m := range page.Messages {
			if m.Metadata.EventType == metadataType && m.Metadata.EventPayload["key"] == key {
				event, _ := m.Metadata.EventPayload["event"].(string)
				return m.Timestamp, event, nil
			}
		}
		if query.Cursor = page.ResponseMetaData.NextCursor; !page.HasMore || query.Cursor == "" {
			return "", "", nil
		}
	}
}

func stamp(t time.Time) string { return fmt.Sprintf("%d.%06d", t.Unix(), t.Nanosecond()/1000) }
