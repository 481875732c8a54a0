package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var tick = time.Date(2026, 11, 22, 2, 0, 0, 0, time.UTC)

// failure is a notification whose texts are hard to put into anything.
func failure() Notification {
	return Notification{
		Namespace: "billing", Job: "report", Condition: Failed, Was: OK, Tick: tick, At: tick.Add(time.Minute), Ticks: 3, Replica: "eu-1", Attempts: 2,
		Started: tick.Add(time.Second), Ended: tick.Add(time.Minute),
		Error: "exit 1: \"}]}, <!channel> <at user_id=\"all\"></at> & \\ \x00\x1b[31m\u2028 **[click](http://evil)** \xff\n@all {{.ID}} ${HOME}",
	}.identify(0)
}

func recovery() Notification {
	n := failure()
	n.Condition, n.Was, n.Error, n.Tick = OK, Failed, "", tick.Add(time.Hour)
	return n.identify(0)
}

// sent is the JSON that a receiver of a kind gets.
func sent(t *testing.T, r Receiver, n Notification) (request, map[string]any) {
	t.Helper()
	r.Name = "r"
	require.NoError(t, Check([]Receiver{r}))
	q, err := r.request(n, tick.Add(2*time.Minute))
	require.NoError(t, err)
	var body map[string]any
	require.NoError(t, json.Unmarshal(q.body, &body), string(q.body))
	require.Equal(t, "application/json", q.header.Get("Content-Type"))
	return q, body
}

const text = "report failed\nnamespace billing, tick 2026-11-22T02:00:00Z, on eu-1, attempt 2\n" +
	"exit 1: \"}]}, <!channel> <at user_id=\"all\"></at> & \\   [31m  **[click](http://evil)** \uFFFD @all {{.ID}} ${HOME}"

func TestTextsAreLinesWithoutControls(t *testing.T) {
	require.Equal(t, text, failure().Text())
	require.Equal(t, "report is ok again", recovery().Title())
	n := recovery()
	n.Was = Overdue
	require.Equal(t, "report is not overdue any more", n.Title())
	n.Condition, n.Was, n.Omitted = Lost, OK, 4
	require.Equal(t, "report has a tick that was lost\nnamespace billing, tick 2026-11-22T03:00:00Z, on eu-1, attempt 2, 4 earlier changes are left out", n.Text())
}

func TestWebhookIsSignedAsStandardWebhooksSays(t *testing.T) {
	const address = "https://example.com/hook?a=b"
	key := []byte("0123456789abcdef01234567")
	q, body := sent(t, Receiver{URL: address, Secret: "whsec_" + base64.StdEncoding.EncodeToString(key), Headers: map[string]string{"X-Team": "a"}}, failure())
	require.Equal(t, "job.failed", body["type"])
	require.Equal(t, "2026-11-22T02:02:00Z", body["timestamp"])
	data := body["data"].(map[string]any)
	require.Equal(t, failure().ID, data["id"])
	require.Equal(t, "billing/report/1795312800000", data["tick_id"])
	require.Equal(t, "2026-11-22T02:00:00.000Z", data["tick"])
	require.Equal(t, text, data["text"])
	require.Len(t, data, 19)

	require.Equal(t, address, q.address.String())
	require.Equal(t, failure().ID, q.header.Get("Webhook-Id"))
	require.Equal(t, "1795312920", q.header.Get("Webhook-Timestamp"))
	require.Equal(t, "a", q.header.Get("X-Team"))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(failure().ID + ".1795312920." + string(q.body)))
	require.Equal(t, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)), q.header.Get("Webhook-Signature"))

	q, _ = sent(t, Receiver{URL: address}, failure())
	require.Empty(t, q.header.Get("Webhook-Signature"))
	// The example of the specification's own libraries.
	key, err := signingKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	require.NoError(t, err)
	require.Equal(t, "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		signature(key, []byte("msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330."), []byte(`{"test": 2432232314}`)))
}

func TestTemplatesMakeJsonOfHostileTexts(t *testing.T) {
	_, body := sent(t, Receiver{URL: "http://h", Template: `{"summary": {{json .Title}}, "error": {{json .Error}}, "all": {{json .}}, "bad": {{eq .Condition "failed"}}}`}, failure())
	require.Equal(t, "report failed", body["summary"])
	require.Equal(t, strings.ToValidUTF8(failure().Error, "\uFFFD"), body["error"])
	require.Equal(t, true, body["bad"])
	require.Equal(t, failure().ID, body["all"].(map[string]any)["id"])

	plain := Receiver{Name: "r", URL: "http://h", ContentType: "text/plain; charset=utf-8", Template: "{{.Text}}"}
	require.NoError(t, Check([]Receiver{plain}))
	q, err := plain.request(failure(), tick)
	require.NoError(t, err)
	require.Equal(t, text, string(q.body))
	require.Equal(t, "text/plain; charset=utf-8", q.header.Get("Content-Type"))
}

func TestSlackGetsEscapedText(t *testing.T) {
	_, body := sent(t, Receiver{Kind: Slack, URL: "https://hooks.slack.com/services/T/B/x"}, failure())
	require.Equal(t, map[string]any{"text": strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)}, body)
	require.NotContains(t, body["text"], "<!channel>")
}

func TestTeamsGetsACardWithoutMarkdown(t *testing.T) {
	_, body := sent(t, Receiver{Kind: Teams, URL: "https://example.com/workflows/x"}, failure())
	require.Equal(t, "message", body["type"])
	attachment := body["attachments"].([]any)[0].(map[string]any)
	require.Equal(t, "application/vnd.microsoft.card.adaptive", attachment["contentType"])
	require.Contains(t, attachment, "contentUrl")
	card := attachment["content"].(map[string]any)
	require.Equal(t, "AdaptiveCard", card["type"])
	require.Equal(t, "1.2", card["version"])
	var lines []string
	for _, block := range card["body"].([]any) {
		require.Equal(t, "RichTextBlock", block.(map[string]any)["type"])
		run := block.(map[string]any)["inlines"].([]any)[0].(map[string]any)
		require.Equal(t, "TextRun", run["type"])
		lines = append(lines, run["text"].(string))
	}
	require.Equal(t, strings.Split(text, "\n"), lines)
}

func TestPagerDutyOpensAndResolvesOneAlert(t *testing.T) {
	r := Receiver{Kind: PagerDuty, Secret: "0123456789abcdef0123456789abcdef"}
	q, body := sent(t, r, failure())
	require.Equal(t, "https://events.pagerduty.com/v2/enqueue", q.address.String())
	payload := body["payload"].(map[string]any)
	details := payload["custom_details"].(map[string]any)
	delete(payload, "custom_details")
	require.Equal(t, map[string]any{
		"routing_key": r.Secret, "event_action": "trigger", "dedup_key": failure().Incident, "client": "solotick", "payload": map[string]any{
			"summary": "report failed", "source": "billing", "severity": "error", "component": "report", "class": "failed", "timestamp": "2026-11-22T02:01:00Z",
		},
	}, body)
	require.Equal(t, failure().ID, details["id"])
	_, body = sent(t, r, recovery())
	require.Equal(t, map[string]any{"routing_key": r.Secret, "event_action": "resolve", "dedup_key": failure().Incident, "client": "solotick"}, body)
}

func TestNtfyGetsTheTopicInJson(t *testing.T) {
	q, body := sent(t, Receiver{Kind: Ntfy, URL: "https://ntfy.example.com/under/jobs", Secret: "tk_1"}, failure())
	require.Equal(t, "https://ntfy.example.com/under/", q.address.JoinPath("/").String())
	require.Equal(t, "Bearer tk_1", q.header.Get("Authorization"))
	title, rest, _ := strings.Cut(text, "\n")
	require.Equal(t, map[string]any{"topic": "jobs", "title": title, "message": rest, "tags": []any{"warning"}, "priority": 4.0}, body)
	q, _ = sent(t, Receiver{Kind: Ntfy, URL: "https://ntfy.sh/jobs"}, recovery())
	require.Equal(t, "https://ntfy.sh/", q.address.String())
	require.Empty(t, q.header.Get("Authorization"))
}

func TestDingTalkSignsInItsUrl(t *testing.T) {
	q, body := sent(t, Receiver{Kind: DingTalk, URL: "https://oapi.dingtalk.com/robot/send?access_token=x", Secret: "SEC1"}, failure())
	require.Equal(t, map[string]any{"msgtype": "text", "text": map[string]any{"content": text}}, body)
	mac := hmac.New(sha256.New, []byte("SEC1"))
	mac.Write([]byte("1795312920000\nSEC1"))
	require.Equal(t, url.Values{
		"access_token": {"x"}, "timestamp": {"1795312920000"}, "sign": {base64.StdEncoding.EncodeToString(mac.Sum(nil))},
	}, q.address.Query())
	require.NotContains(t, q.address.RawQuery, "+", "the signature is escaped")
}

func TestFeishuSignsInItsBody(t *testing.T) {
	_, body := sent(t, Receiver{Kind: Feishu, URL: "https://open.feishu.cn/open-apis/bot/v2/hook/x", Secret: "s"}, failure())
	require.Equal(t, map[string]any{
		"msg_type": "text", "content": map[string]any{"text": strings.ReplaceAll(text, "<", "\uFF1C")},
		"timestamp": "1795312920", "sign": base64.StdEncoding.EncodeToString(hmac.New(sha256.New, []byte("1795312920\ns")).Sum(nil)),
	}, body)
	_, body = sent(t, Receiver{Kind: Feishu, URL: "https://open.feishu.cn/open-apis/bot/v2/hook/x"}, failure())
	require.NotContains(t, body, "sign")
}

func TestWeComGetsAtMost2048Bytes(t *testing.T) {
	n := failure()
	_, body := sent(t, Receiver{Kind: WeCom, URL: "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=x"}, n)
	require.Equal(t, map[string]any{"msgtype": "text", "text": map[string]any{"content": strings.ReplaceAll(text, "<", "\uFF1C")}}, body)
	n.Error = strings.Repeat("日", 3000)
	_, body = sent(t, Receiver{Kind: WeCom, URL: "https://h"}, n)
	content := body["text"].(map[string]any)["content"].(string)
	require.LessOrEqual(t, len(content), 2048)
	require.Greater(t, len(content), 2040)
	require.True(t, strings.HasSuffix(content, "日…"))
}
