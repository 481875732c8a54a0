package notify

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"text/template"
	"time"
)

// request is a request to a receiver.
type request struct {
	address *url.URL
	header  http.Header
	body    []byte
}

// object is a JSON object.
type object map[string]any

// request makes the request for n. now is fleet time: a receiver refuses a signature that is too
// old.
func (r Receiver) request(n Notification, now time.Time) (request, error) {
	address, secret, err := r.secrets()
	if err != nil {
		return request{}, err
	}
	q := request{address: address, header: http.Header{"Content-Type": {"application/json"}, "User-Agent": {"solotick"}}}
	for name, text := range r.Headers {
		q.header.Set(name, text)
	}
	var body object
	switch r.kind() {
	case Slack:
		body = object{"text": cut(slackText(n.Text()), 4000)}
	case Teams:
		body = teamsCard(n)
	case PagerDuty:
		body = pagerDutyEvent(n, secret)
	case Ntfy:
		q.address = address.JoinPath("..")
		if secret != "" {
			q.header.Set("Authorization", "Bearer "+secret)
		}
		body = ntfyMessage(n, path.Base(address.Path))
	case DingTalk:
		q.address = dingTalkAddress(address, secret, now)
		body = object{"msgtype": "text", "text": object{"content": cut(n.Text(), 4000)}}
	case Feishu:
		body = feishuMessage(n, secret, now)
	case WeCom:
		body = object{"msgtype": "text", "text": object{"content": cut(plainText(n.Text()), 2048)}}
	default:
		return r.webhook(q, n, secret, now)
	}
	q.body, err = json.Marshal(body)
	return q, err
}

// webhook makes a request as Standard Webhooks says.
func (r Receiver) webhook(q request, n Notification, secret string, now time.Time) (request, error) {
	var err error
	if r.Template == "" {
		q.body, err = json.Marshal(object{"type": "job." + string(n.Condition), "timestamp": now.UTC().Format(time.RFC3339), "data": n})
	} else {
		q.body, err = r.expand(n)
	}
	if err != nil {
		return q, err
	}
	if r.ContentType != "" {
		q.header.Set("Content-Type", r.ContentType)
	}
	seconds := strconv.FormatInt(now.Unix(), 10)
	q.header.Set("Webhook-Id", n.ID)
	q.header.Set("Webhook-Timestamp", seconds)
	if secret != "" {
		key, err := signingKey(secret)
		if err != nil {
			return q, fmt.Errorf("secret %w", err)
		}
		q.header.Set("Webhook-Signature", "v1,"+signature(key, []byte(n.ID+"."+seconds+"."), q.body))
	}
	return q, nil
}

func signature(key []byte, parts ...[]byte) string {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		mac.Write(part)
	}
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// expand makes the body that the template says.
func (r Receiver) expand(n Notification) ([]byte, error) {
	t, err := template.New(r.Name).Funcs(template.FuncMap{"json": func(v any) (string, error) {
		text, err := json.Marshal(v)
		return string(text), err
	}}).Option("missingkey=error").Parse(r.Template)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, n); err != nil {
		return nil, err
	}
	if strings.HasPrefix(r.contentType(), "application/json") && !json.Valid(b.Bytes()) {
		return nil, errors.New("does not make JSON of every notification; write {{json .Error}} for \"{{.Error}}\", or set content_type")
	}
	return b.Bytes(), nil
}

func (r Receiver) contentType() string {
	if r.ContentType == "" {
		return "application/json"
	}
	return r.ContentType
}

// tryTemplate makes bodies of notifications that are hard to put into one.
func tryTemplate(r Receiver) error {
	if r.Template == "" {
		return nil
	}
	for _, n := range []Notification{{}, {
		ID: "0", Namespace: "n", Job: "j", Condition: Failed, Was: OK, Error: "\"}],\\\n\t\x00\u2028<!--${x}{{y}}", Reason: `"`, Replica: `\`, Tick: time.Unix(0, 0),
	}} {
		if _, err := r.expand(n); err != nil {
			return err
		}
	}
	return nil
}

func slackText(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// plainText keeps a text from mentioning people, where a tag does that and nothing escapes it.
func plainText(text string) string { return strings.ReplaceAll(text, "<", "\uFF1C") }

// teamsCard has the text in runs, which are not read as Markdown.
func teamsCard(n Notification) object {
	title, rest, _ := strings.Cut(cut(n.Text(), 8000), "\n")
	run := func(text string, bold bool) object {
		o := object{"type": "TextRun", "text": text}
		if bold {
			o["weight"] = "Bolder"
		}
		return object{"type": "RichTextBlock", "inlines": []object{o}}
	}
	body := []object{run(title, true)}
	for line := range strings.SplitSeq(rest, "\n") {
		body = append(body, run(line, false))
	}
	return object{"type": "message", "attachments": []object{{
		"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil, "content": object{
			"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.2", "body": body,
		},
	}}}
}

// pagerDutyEvent opens or resolves the alert of an incident.
func pagerDutyEvent(n Notification, key string) object {
	event := object{"routing_key": key, "event_action": "trigger", "dedup_key": n.Incident, "client": "solotick"}
	if n.Condition == OK {
		event["event_action"] = "resolve"
		return event
	}
	payload := object{
		"summary": cut(n.Title(), 1024), "source": n.Namespace, "severity": "error", "component": n.Job, "class": string(n.Condition),
		"custom_details": n,
	}
	if !n.At.IsZero() {
		payload["timestamp"] = n.At.UTC().Format(time.RFC3339)
	}
	event["payload"] = payload
	return event
}

func ntfyMessage(n Notification, topic string) object {
	title, rest, _ := strings.Cut(n.Text(), "\n")
	tag, priority := "warning", 4
	if n.Condition == OK {
		tag, priority = "white_check_mark", 3
	}
	return object{"topic": topic, "title": title, "message": cut(rest, 3000), "tags": []string{tag}, "priority": priority}
}

func dingTalkAddress(address *url.URL, secret string, now time.Time) *url.URL {
	if secret == "" {
		return address
	}
	ms := strconv.FormatInt(now.UnixMilli(), 10)
	signed := *address
	query := signed.Query()
	query.Set("timestamp", ms)
	query.Set("sign", signature([]byte(secret), []byte(ms+"\n"+secret)))
	signed.RawQuery = query.Encode()
	return &signed
}

func feishuMessage(n Notification, secret string, now time.Time) object {
	message := object{"msg_type": "text", "content": object{"text": cut(plainText(n.Text()), 4000)}}
	if secret != "" {
		seconds := strconv.FormatInt(now.Unix(), 10)
		message["timestamp"], message["sign"] = seconds, signature([]byte(seconds+"\n"+secret))
	}
	return message
}

// cut returns text with at most so many bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}
